import PushModel
package import Store
import StoreKit
package import StoreSQL

/// A database that a store is moved from, or into, as the owner of its tables; no program has it open meanwhile.
package final class MovedDatabase {
    private let wire: Wire
    /// Holds a lock that whoever opens the store waits for in vain.
    private let keeper: Wire
    private let found: SchemaVersion
    /// What registrations are found by.
    private var digest: HandleDigest?
    /// The columns of tables, and what kind they are of.
    private var kinds: [String: [String: Kind]] = [:]

    private enum Kind { case integers, texts, byteStrings }

    /// For a statement on a table of any size.
    private static let patience = Duration.seconds(600)

    /// - Parameters:
    ///   - addresses: Where its servers are, as the owner of the tables.
    ///   - role: The programs' role.
    ///   - isNew: Whether tables are made where there are none.
    /// - Throws: ``StoreError`` where there are none, they are not this program's, or a program is connected.
    package init(_ addresses: ServerAddresses, programs role: String, makesTables isNew: Bool) throws {
        let deadlines = Deadlines()
        self.wire = try Servers(addresses, deadlines, .migration).connect().wire
        self.keeper = try Servers(addresses, deadlines, .migration).connect().wire
        do {
            let end = ContinuousClock.now + Self.patience
            if isNew, try Schema.found(self.wire, until: end) == nil {
                _ = try Migrator(addresses).migrate(programs: role)
            }
            guard let found = try Schema.found(self.wire, until: end) else {
                throw StoreError(.unavailable, "the database has no tables of a store's")
            }
            self.found = found
            if !(isNew && found.isMoving), let refusal = Schema.plan.refusal(of: found) {
                throw StoreError(.unavailable, refusal)
            }
        } catch let error as WireFault { throw error.ofRead }
        try self.keep(from: role)
    }

    /// Keeps programs away, and finds those that are connected.
    private func keep(from role: String) throws {
        let lock = ["BEGIN", "SET LOCAL lock_timeout = '2s'", "LOCK TABLE writer IN ACCESS EXCLUSIVE MODE"]
        let connected = PostgreSQLStatement(
            "SELECT count(*) AS count FROM pg_stat_activity WHERE datname = current_database() AND usename = $1",
            [.text(role)]
        )
        let answers: [SQLAnswer]
        do throws(WireFault) {
            answers = try self.keeper.exchange(
                lock.map { PostgreSQLStatement($0) } + [connected],
                until: .now + .seconds(30)
            )
        } catch { throw error.isLockTimeout ? Self.inUse(by: role) : error.ofRead }
        guard try answers.last?.rows.first?["count"] == 0 else { throw Self.inUse(by: role) }
    }

    private static func inUse(by role: String) -> StoreError {
        StoreError(.unavailable, "programs are connected to the database as \(role): stop them all, on every host")
    }

    private func send(_ statements: [PostgreSQLStatement], over wire: Wire? = nil) throws -> [SQLAnswer] {
        do throws(WireFault) { return try (wire ?? self.wire).exchange(statements, until: .now + Self.patience) } catch
        {
            throw error.ofRead
        }
    }
}

extension MovedDatabase: MovedStore {
    /// Columns that the driver alone has are left out.
    package func columns(of table: MovedTable) throws -> [String] {
        let query = PostgreSQLStatement(
            """
            SELECT attname::text AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
            WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum
            """,
            [.text(table.name)]
        )
        let rows = try self.send([query])[0].rows
        self.kinds[table.name] = try rows.reduce(into: [:]) { kinds, row in
            kinds[try row["name"]] = try Self.kind(of: row["type"])
        }
        let own = table.hasSlots ? "slot" : table.name == "registration" ? "digest" : ""
        return try rows.map { try $0["name"] }.filter { $0 != own }
    }

    private static func kind(of type: String) -> Kind {
        switch type {
        case "bytea": .byteStrings
        case "text": .texts
        default: .integers
        }
    }

    /// Of counts the rows of all slots are one row.
    package func relation(of table: MovedTable) -> String {
        guard table.hasSlots else { return table.name }
        let key = table.key.joined(separator: ", ")
        return "(SELECT \(key), CAST(sum(count) AS bigint) AS count FROM \(table.name) GROUP BY \(key)) AS counted"
    }

    package func rows(_ query: SQLStatement) throws -> [SQLRow] {
        try self.send([PostgreSQLStatement(shared: query)])[0].rows
    }

    package func highestNumber(of table: MovedTable) throws -> Int64 {
        let query = PostgreSQLStatement(
            """
            SELECT greatest(coalesce(pg_sequence_last_value(to_regclass(\(table.sequence))), 0),
                (SELECT max("\(table.key[0])") FROM \(table.name))) AS number
            """
        )
        let number: Int64 = try self.send([query])[0].rows.first?["number"] ?? 0
        // A block belongs to whoever took its first number.
        return table.name == "job" && number > 0 ? number + Int64(JobNumbers.block) - 1 : number
    }

    package func state() throws -> MovedState {
        let answers = try self.send([
            PostgreSQLStatement("SELECT key FROM store_key ORDER BY name"),
            PostgreSQLStatement(
                "SELECT sum(unfinished)::bigint AS unfinished, sum(scheduled)::bigint AS scheduled FROM backlog"
            ),
        ])
        guard answers[0].rows.count == 2, let backlog = answers[1].rows.first else {
            throw StoreError(.corrupt, "the database lacks what a store has beside its tables")
        }
        let clock: StoreClock
        // Over the connection that holds its table.
        do {
            clock = try ServerClock.make(SystemClock(), self.keeper, until: .now + Self.patience)
        } catch let error as WireFault {
            throw error.ofRead
        }
        return MovedState(
            cursorKey: try answers[0].rows[0]["key"],
            handleKey: try answers[0].rows[1]["key"],
            now: clock.now,
            backlog: (unfinished: try backlog["unfinished"], scheduled: try backlog["scheduled"])
        )
    }
}

extension MovedDatabase: MoveTarget {
    package func begin(_ state: MovedState) throws {
        self.digest = try HandleDigest(key: state.handleKey, isWide: true)
        if self.found.isMoving {
            guard try self.state().cursorKey == state.cursorKey else {
                throw StoreError(.conflict, "the database has rows of another store: give an empty one")
            }
            return
        }
        let isUsed = PostgreSQLStatement("SELECT EXISTS (SELECT 1 FROM app) AS is_used")
        guard try self.send([isUsed])[0].rows.first?["is_used"] == false else {
            let isThis = try self.state().cursorKey == state.cursorKey
            let words =
                isThis
                ? "this store was moved here already, and what is here is as old as that move"
                : "the database has a store with rows"
            throw StoreError(.conflict, "\(words): give an empty one to move into")
        }
        func put(_ key: [UInt8], _ name: String) -> PostgreSQLStatement {
            PostgreSQLStatement("UPDATE store_key SET key = $1 WHERE name = $2", [.bytes(key), .text(name)])
        }
        _ = try self.send([
            put(state.cursorKey, "cursors"), put(state.handleKey, "handles"),
            PostgreSQLStatement(
                "UPDATE store_version SET opens_from = $1",
                [.integer(Int64(SchemaVersion.moving))]
            ),
        ])
    }

    package func write(_ rows: [[SQLValue]], _ columns: [String], to table: MovedTable) throws {
        var lists = try zip(columns, columns.indices).map { name, index in
            (name: name, values: try self.list(rows.map { $0[index] }, of: name, in: table))
        }
        if table.hasSlots { lists.append(("slot", .integers(rows.map { _ in 0 }))) }
        if table.name == "registration" {
            let digests = try rows.map { try self.digest?.bytes(of: SQLRow(columns: columns, values: $0)) }
            lists.append(("digest", .byteStrings(digests)))
        }
        let names = lists.map { "\"\($0.name)\"" }.joined(separator: ", ")
        let marks = lists.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
        _ = try self.send([
            PostgreSQLStatement(
                "INSERT INTO \(table.name)(\(names)) OVERRIDING SYSTEM VALUE SELECT * FROM unnest(\(marks))",
                lists.map(\.values)
            )
        ])
    }

    private func list(
        _ values: [SQLValue],
        of column: String,
        in table: MovedTable
    ) throws -> PostgreSQLStatement.Parameter {
        func all<Value: SQLConvertible>() throws(StoreError) -> [Value?] {
            try values.map { value throws(StoreError) in
                guard let read = Value?(sqlValue: value) else {
                    throw StoreError(.corrupt, "the column \(column) of \(table.name) has a value of another kind")
                }
                return read
            }
        }
        return switch self.kinds[table.name]?[column] {
        case .byteStrings: .byteStrings(try all())
        case .texts: .texts(try all())
        case .integers, nil: .integers(try all())
        }
    }

    package func finish(_ state: MovedState, numbers: [String: Int64], by act: NewAct?) throws {
        let sequences = MovedTable.all.filter(\.isNumbered).map { table in
            PostgreSQLStatement(
                "SELECT setval(to_regclass(\(table.sequence)), greatest($1, 1), $1 > 0) AS number",
                [.integer(numbers[table.name] ?? 0)]
            )
        }
        let entry = act.map { [PostgreSQLStatement(shared: ActTable.insertion($0, at: .now))] } ?? []
        let (unfinished, scheduled) = state.backlog
        let rest = [
            PostgreSQLStatement("UPDATE backlog SET unfinished = 0, scheduled = 0 WHERE slot <> 0"),
            PostgreSQLStatement(
                "UPDATE backlog SET unfinished = $1, scheduled = $2 WHERE slot = 0",
                [.integer(unfinished), .integer(scheduled)]
            ),
            // The clock goes on from the latest write.
            WriterRow().beginning(at: state.now),
            PostgreSQLStatement(
                "UPDATE store_version SET opens_from = $1",
                [.integer(Int64(Schema.plan.newest.opensFrom))]
            ),
            PostgreSQLStatement("COMMIT"),
        ]
        // In the transaction that keeps programs away.
        _ = try self.send(sequences + entry + rest, over: self.keeper)
        _ = try self.send(Schema.tableNames.map { PostgreSQLStatement("ANALYZE \($0)") })
    }
}

extension MovedTable {
    /// Whether a count is the sum of some rows.
    fileprivate var hasSlots: Bool { ["delivery_count", "platform_count"].contains(self.name) }

    /// An expression for the name of the sequence of its numbers.
    fileprivate var sequence: String {
        switch self.name {
        case "job": "'job_sequence'"
        case "message": "'message_number'"
        default: "pg_get_serial_sequence('\(self.name)', '\(self.key[0])')"
        }
    }
}
