import StoreSQL

/// New rows of one table, all in one statement.
enum OutboxRows: StepRows {
    static func numbers(_ count: Int) -> SQLStatement {
        "SELECT nextval('message_number') AS number FROM generate_series(1, \(count))"
    }

    static func messages(_ messages: [(number: Int64, message: NewMessage)]) -> [SQLStatement] {
        self.insertion("message(id, \(NewMessage.columns))", messages.map { [$0.number] + $0.message.values })
    }

    static func batches(_ batches: [NewBatch]) -> [SQLStatement] {
        self.insertion("batch(\(NewBatch.columns), attempt, open)", batches.map(\.values), then: ", 0, 1")
    }

    static func cursors(_ cursors: [NewCursor]) -> [SQLStatement] {
        self.insertion("cursor(\(NewCursor.columns))", cursors.map(\.values))
    }

    /// What is sent of rows, which have the same columns.
    static func columns(of rows: [[Int64?]]) -> [SQLArray] {
        (rows.first?.indices ?? 0..<0).map { column in .integers(rows.map { $0[column] }) }
    }

    private static func insertion(
        _ table: String,
        _ rows: [[Int64?]],
        then constants: String = ""
    ) -> [SQLStatement] {
        guard !rows.isEmpty else { return [] }
        let columns = SQLStatement(joining: self.columns(of: rows).map { "\($0)" }, with: ", ")
        return ["INSERT INTO \(raw: table) SELECT *\(raw: constants) FROM unnest(\(columns)) AS given"]
    }
}
