package import Store

/// A range of rows in their order, of which an audience is made.
package enum RowRange {
    /// The registrations with the tag of that index in the expression.
    case tag(Int)
    /// All live registrations of the app and service.
    case live
}

/// Where an ``AudienceReader`` finds rows: the indexes of a store, within one read transaction.
package protocol RowSource {
    /// The cost so far: steps, and seeks with their weight.
    var cost: Int { get }

    /// The first row at or after another that a range may have, as far as it is known.
    func next(of range: RowRange, from row: Int64) -> Int64

    /// Adds the wanted rows of a range.
    ///
    /// - Parameters:
    ///   - range: The range.
    ///   - wanted: Bit i is the row `base + i`.
    ///   - base: The row of bit 0.
    ///   - count: The number of rows from the base on.
    ///   - found: Receives the rows.
    /// - Returns: Whether there is any.
    /// - Throws: The store's error.
    mutating func collect(
        _ range: RowRange,
        within wanted: RowSet,
        base: Int64,
        count: Int,
        into found: inout RowSet
    ) throws -> Bool

    /// Appends rows with their handles.
    mutating func handles(of rows: RowSet, base: Int64, into page: inout AudiencePage) throws

    /// The distance spanned by the next few rows of a tag; `.max` if there are no more.
    mutating func span(of index: Int, from base: Int64) throws -> Int64
}
