/// Rows of which a range is known to have none; empty if nothing is known.
package struct RangeGap {
    private let from: Int64
    /// The range's next row, `.max` where there is none.
    private let next: Int64

    package init(from: Int64 = 0, next: Int64 = 0) { (self.from, self.next) = (from, next) }

    /// Of a range without any row.
    package static let everything = RangeGap(from: 0, next: .max)

    /// The first row at or after another that the range may have.
    package func end(from row: Int64) -> Int64 { self.from <= row && row < self.next ? self.next : row }
}
