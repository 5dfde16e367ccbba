/// Inserts rows into a table, many in one statement: to start one costs as much as a row.
struct RowInsert: Sendable {
    /// So many rows are inserted at a time, as many as are left: statements that stay prepared.
    private let statements: [(rows: Int, sql: String)]
    private let columns: Int32

    /// - Parameters:
    ///   - table: The table with its columns.
    ///   - constants: The values of its first columns that are not parameters.
    ///   - most: The most rows of a statement, a power of two.
    init(_ table: String, constants: [String] = [], most: Int) {
        let columns = table.count { $0 == "," } + 1 - constants.count
        let row = "(\((constants + Array(repeating: "?", count: columns)).joined(separator: ", ")))"
        self.columns = Int32(columns)
        self.statements = sequence(first: most) { $0 > 1 ? $0 / 2 : nil }.map { rows in
            (rows, "INSERT INTO \(table) VALUES \(Array(repeating: row, count: rows).joined(separator: ", "))")
        }
    }

    /// Inserts rows in their order, with consecutive numbers where the table gives them.
    ///
    /// - Parameters:
    ///   - rows: The rows.
    ///   - database: The connection.
    ///   - bind: Binds a row's columns from an index on.
    /// - Throws: SQLite's error.
    func insert<Row>(
        _ rows: some RandomAccessCollection<Row>,
        into database: Database,
        bind: (PreparedStatement, Int32, Row) throws -> Void
    ) throws {
        var rest = rows[...]
        for (count, sql) in self.statements where rest.count >= count {
            let statement = try PreparedStatement(sql, in: database)
            // Sixty-four large ones are some megabytes.
            defer { statement.clear() }
            while rest.count >= count {
                var index: Int32 = 1
                for row in rest.prefix(count) {
                    try bind(statement, index, row)
                    index += self.columns
                }
                try statement.run()
                rest = rest.dropFirst(count)
            }
        }
    }
}
