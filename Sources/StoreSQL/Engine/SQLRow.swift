import Store

/// A row of an answer, read by the names of its columns.
package struct SQLRow: Sendable {
    /// Shared by all rows of the answer.
    private let columns: [String]
    private let values: [SQLValue]

    package init(columns: [String], values: [SQLValue]) {
        self.columns = columns
        self.values = values
    }

    /// The value of a column.
    ///
    /// - Throws: ``StoreError`` where the row has no such column, or one of another kind.
    package subscript<Value: SQLConvertible>(column: String) -> Value {
        get throws(StoreError) {
            guard let index = self.columns.firstIndex(of: column), let value = Value(sqlValue: self.values[index])
            else { throw StoreError(.corrupt, "a row has no column \(column) of the kind that is expected") }
            return value
        }
    }
}

/// What an engine answers a statement.
package struct SQLAnswer: Sendable {
    package let rows: [SQLRow]
    /// How many rows it gave or changed.
    package let count: Int

    package init(rows: [SQLRow], count: Int) {
        self.rows = rows
        self.count = count
    }
}
