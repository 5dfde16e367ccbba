import StoreKit
import Testing

/// The sets of rows, a bit each.
@Suite struct RowSetTests {
    @Test(arguments: [1, 63, 64, 65, 200])
    func rowsAreFoundAndTruncated(count: Int) {
        let all = RowSet(all: count)
        #expect(all.count == count)
        #expect(all.next(from: count - 1) == count - 1)
        #expect(all.next(from: count) == nil)
        #expect(all.prefix(count / 2).count == count / 2)
        #expect(all.prefix(count / 2).next(from: 0) == (count / 2 == 0 ? nil : 0))
        var some = RowSet(capacity: count)
        #expect(some.isEmpty && some.next(from: 0) == nil)
        some.insert(count - 1)
        #expect(some.next(from: 0) == count - 1)
        #expect(some.contains(count - 1))
        var left = all
        left.subtract(some)
        #expect(left.count == count - 1)
        left.formUnion(some)
        #expect(left == all)
    }
}
