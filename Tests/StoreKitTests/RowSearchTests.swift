import StoreKit
import Testing

/// The audience of many tags is found tag by tag; its first rows are kept.
struct RowSearchTests {
    @Test func theFirstRowsAreKeptEachOnce() {
        var search = RowSearch(tags: (1...4).map { .number($0) }, slot: 1, after: 0, through: .max, most: 3)
        #expect(search.next.count == 4)
        search.add([5, 9, 12], of: 1)
        #expect(search.end == .max && search.next.count == 3)
        // Twice as many as are wanted: of what is behind the first of them nothing counts any more.
        search.add([5, 7, 20], of: 2)
        #expect(search.rows == [5, 7, 9] && search.end == 9 && !search.isDone)
        search.add([8], of: 1)
        #expect(search.rows == [5, 7, 8] && search.end == 8 && search.isDone)
    }

    @Test func anAudienceThatEndsEarlyIsKnownToItsEnd() {
        var search = RowSearch(tags: [.number(1)], slot: 1, after: 0, through: 100, most: 3)
        search.add([5, 7], of: 1)
        #expect(search.rows == [5, 7] && search.end == 100 && search.isDone)
    }

    @Test func aPieceEndsWithItsRowsOrWithItsCost() {
        let search = RowSearch(tags: [.number(1)], slot: 1, after: 0, through: 100, most: 30)
        #expect(!search.isPiece(29, of: 1, maximumCost: 100))
        #expect(search.isPiece(30, of: 1, maximumCost: 100))
        #expect(!search.isPiece(0, of: 6, maximumCost: 100) && search.isPiece(0, of: 7, maximumCost: 100))
    }
}
