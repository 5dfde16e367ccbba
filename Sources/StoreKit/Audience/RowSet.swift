/// Neighbouring rows as bits, counted from a base that the caller keeps.
///
/// Functions called for each row that a driver steps over are inlinable.
package struct RowSet: Equatable {
    @usableFromInline
    var words: [UInt64]

    package init(capacity: Int) { self.words = [UInt64](repeating: 0, count: (capacity + 63) / 64) }

    /// All rows below `count`.
    package init(all count: Int) {
        self.words = [UInt64](repeating: .max, count: (count + 63) / 64)
        if !count.isMultiple(of: 64), let last = self.words.indices.last {
            self.words[last] = (1 << UInt64(count % 64)) - 1
        }
    }

    package var capacity: Int { self.words.count * 64 }

    package var isEmpty: Bool { self.words.allSatisfy { $0 == 0 } }

    package var count: Int { self.words.reduce(0) { $0 + $1.nonzeroBitCount } }

    @inlinable package func contains(_ bit: Int) -> Bool { self.words[bit / 64] & (1 << UInt64(bit % 64)) != 0 }

    @inlinable package mutating func insert(_ bit: Int) { self.words[bit / 64] |= 1 << UInt64(bit % 64) }

    package mutating func subtract(_ other: RowSet) {
        for index in self.words.indices { self.words[index] &= ~other.words[index] }
    }

    package mutating func formIntersection(_ other: RowSet) {
        for index in self.words.indices { self.words[index] &= other.words[index] }
    }

    package mutating func formUnion(_ other: RowSet) {
        for index in self.words.indices { self.words[index] |= other.words[index] }
    }

    /// The first at or above a bit.
    @inlinable package func next(from bit: Int) -> Int? {
        var index = bit / 64
        guard index < self.words.count else { return nil }
        var word = self.words[index] & (.max << UInt64(bit % 64))
        while word == 0 {
            index += 1
            guard index < self.words.count else { return nil }
            word = self.words[index]
        }
        return index * 64 + word.trailingZeroBitCount
    }

    /// The first `count` of them.
    package func prefix(_ count: Int) -> RowSet {
        var first = self
        var left = count
        for index in self.words.indices {
            while first.words[index].nonzeroBitCount > left {
                // The highest bit goes.
                first.words[index] &= ~(1 << UInt64(63 - first.words[index].leadingZeroBitCount))
            }
            left -= first.words[index].nonzeroBitCount
        }
        return first
    }
}
