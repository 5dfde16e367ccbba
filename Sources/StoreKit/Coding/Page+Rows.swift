package import Store

extension Page {
    /// A page of a list.
    ///
    /// Its rows were read with a limit of one more, which shows whether there is another page.
    ///
    /// - Parameters:
    ///   - rows: The rows, at most `limit + 1`.
    ///   - limit: The page's limit.
    ///   - cursor: The cursor behind a row.
    ///   - item: Makes an item of the list from a row.
    /// - Throws: The error of `item`.
    package init<Row>(
        _ rows: [Row],
        limit: Int,
        cursor: (Row) -> String,
        item: (Row) throws -> Element
    ) rethrows {
        let given = rows.prefix(limit)
        self.init(items: try given.map(item), cursor: rows.count > limit ? given.last.map(cursor) : nil)
    }
}
