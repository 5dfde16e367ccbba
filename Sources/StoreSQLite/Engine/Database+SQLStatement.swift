import GRDB
import StoreSQL

extension Database {
    /// Runs a statement that stays prepared, without its parameters.
    func answer(_ statement: SQLStatement) throws -> SQLAnswer {
        let raw = try RawStatement(SQLDialect.sqlite.text(of: statement), in: self)
        // Contents are large: they must not stay bound.
        defer {
            raw.reset()
            raw.clear()
        }
        for (index, value) in statement.values.enumerated() { try raw.bind(value, at: Int32(index + 1)) }
        let columns = raw.columns
        guard !columns.isEmpty else {
            try raw.run()
            return SQLAnswer(rows: [], count: self.changesCount)
        }
        var rows: [SQLRow] = []
        while try raw.step() {
            rows.append(SQLRow(columns: columns, values: try columns.indices.map { try raw.value(Int32($0)) }))
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
}

extension RawStatement {
    fileprivate func bind(_ value: SQLValue, at index: Int32) throws {
        switch value {
        case .null: try self.bind(nil as Int64?, at: index)
        case .integer(let number): try self.bind(number, at: index)
        case .text(let text): try self.bind(text, at: index)
        case .bytes(let bytes): try self.bind(bytes, at: index)
        }
    }
}
