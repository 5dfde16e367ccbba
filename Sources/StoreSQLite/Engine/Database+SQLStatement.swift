import StoreSQL

extension Database {
    /// Runs a statement that stays prepared, without its parameters.
    func answer(_ statement: SQLStatement) throws -> SQLAnswer {
        let prepared = try self.statement(statement.text)
        // Contents are large: they must not stay bound.
        defer { prepared.end() }
        for (index, value) in statement.values.enumerated() { try prepared.bind(value, at: Int32(index + 1)) }
        let columns = prepared.columns
        guard !columns.isEmpty else {
            try prepared.run()
            return SQLAnswer(rows: [], count: self.changesCount)
        }
        var rows: [SQLRow] = []
        while try prepared.step() {
            rows.append(SQLRow(columns: columns, values: columns.indices.map { prepared.value(Int32($0)) }))
        }
        return SQLAnswer(rows: rows, count: rows.count)
    }
}

extension WriteContext {
    /// Runs both halves of a transaction, as a part of this change.
    func perform<Value: Sendable>(_ transaction: SQLTransaction<Value>) throws -> Value {
        let read = try transaction.reads.map { try self.database.answer($0).rows }
        return try transaction.decide(read).run { try self.database.answer($0) }
    }

    /// The same with a transaction by which jobs may end.
    func end<Value: Sendable>(_ transaction: SQLTransaction<Ended<Value>>) throws -> Value {
        let ended = try self.perform(transaction)
        for state in ended.states { self.countFinished(state) }
        return ended.value
    }
}
