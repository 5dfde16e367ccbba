package import Store

extension Page {
    /// A page of a list.
    ///
    /// Its rows were read with a limit of one more, which shows whether there is another page.
    ///
    /// - Parameters:
    ///   - rows: The rows, at most `limit + 1`.
    ///   - limit: The page's limit.
    ///   - number: A row's number, for the cursor.
    ///   - item: Makes an item of the list from a row.
    /// - Throws: The error of `item`.
    package init<Row>(
        _ rows: [Row],
        limit: Int,
        number: (Row) -> Int64,
        item: (Row) throws -> Element
    ) rethrows {
        let given = rows.prefix(limit)
        self.init(
            items: try given.map(item),
            cursor: rows.count > limit ? given.last.map { ListCursor.encode(number($0)) } : nil
        )
    }
}

/// The cursors of lists: the number of the last row that was given.
package enum ListCursor {
    /// The cursor behind a row.
    package static func encode(_ number: Int64) -> String { String(number) }

    /// The row that a cursor stands behind; nil = the list is read from its beginning.
    package static func decode(_ text: String?) throws(StoreError) -> Int64? {
        guard let text else { return nil }
        guard let number = Int64(text), number >= 0, String(number) == text else {
            throw StoreError(.invalidCursor, "a cursor that no list has given")
        }
        return number
    }
}
