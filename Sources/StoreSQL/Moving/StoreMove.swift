package import Store

/// Moves a store into another driver's: every row with its numbers, table by table.
///
/// Rows are written in the order of their keys, a block a transaction. So a move that was broken off goes on behind the last row that
/// the target has.
package struct StoreMove {
    private let source: any MovedStore
    private let target: any MoveTarget
    private let act: NewAct?

    /// - Parameters:
    ///   - source: Where it is.
    ///   - target: Where it is to be.
    ///   - act: The act that it is; its entry is written into the store that is there then.
    package init(from source: any MovedStore, to target: any MoveTarget, by act: NewAct? = nil) {
        (self.source, self.target, self.act) = (source, target, act)
    }

    /// Moves everything; the source stays as it is.
    ///
    /// - Parameter progress: Told how many rows are moved, of how many; it may break the move off.
    /// - Returns: How many rows the store has.
    /// - Throws: ``StoreError``; what `progress` throws. What is moved by then stays, and is gone on with.
    package func run(progress: (_ count: Int, _ total: Int) throws -> Void) throws -> Int {
        let state = try self.source.state()
        let columns = try MovedTable.all.map(self.columns)
        try self.target.begin(state)
        let total = try MovedTable.all.reduce(0) { try $0 + Self.count($1, in: self.source) }
        var count = 0
        for (table, columns) in zip(MovedTable.all, columns) {
            count += try Self.count(table, in: self.target)
            try progress(count, total)
            try self.move(table, columns) { rows in
                count += rows
                try progress(count, total)
            }
            let (wanted, found) = try (Self.count(table, in: self.source), Self.count(table, in: self.target))
            guard wanted == found else {
                throw StoreError(.corrupt, "of the \(wanted) rows of the table \(table.name) \(found) are there")
            }
        }
        try self.target.finish(state, numbers: self.numbers(), by: self.act)
        return total
    }

    private func columns(of table: MovedTable) throws -> [String] {
        let (source, target) = try (self.source.columns(of: table), self.target.columns(of: table))
        guard Set(source) == Set(target) else {
            let others = Set(source).symmetricDifference(target).sorted().joined(separator: ", ")
            throw StoreError(.corrupt, "the table \(table.name) has not the same columns at both places: \(others)")
        }
        return source
    }

    private func move(_ table: MovedTable, _ columns: [String], progress: (Int) throws -> Void) throws {
        let last = try self.target.rows(table.last(of: self.target.relation(of: table))).first
        var key = try last.map { row in try table.key.map { try row[$0] as SQLValue } }
        while true {
            let found = try self.source.rows(table.page(columns, of: self.source.relation(of: table), after: key))
            guard let end = found.last else { return }
            try self.target.write(found.map { row in try columns.map { try row[$0] } }, columns, to: table)
            key = try table.key.map { try end[$0] as SQLValue }
            try progress(found.count)
        }
    }

    private static func count(_ table: MovedTable, in store: any MovedStore) throws -> Int {
        let query: SQLStatement = "SELECT count(*) AS count FROM \(raw: store.relation(of: table))"
        return try store.rows(query).first?["count"] ?? 0
    }

    /// The highest numbers; those of jobs are also above all versions, which are numbers of jobs that may be gone.
    private func numbers() throws -> [String: Int64] {
        var numbers: [String: Int64] = [:]
        for table in MovedTable.all where table.isNumbered {
            numbers[table.name] = try self.source.highestNumber(of: table)
        }
        let versions: SQLStatement = """
            SELECT max(version) AS version FROM (SELECT max(version) AS version FROM registration
                UNION ALL SELECT max(version) FROM released_handle UNION ALL SELECT max(version) FROM tombstone
                UNION ALL SELECT max(version) FROM removed_user) AS known
            """
        let version: Int64? = try self.source.rows(versions).first?["version"] ?? nil
        numbers["job"] = max(numbers["job"] ?? 0, version ?? 0)
        return numbers
    }
}
