package import Store
import StoreSQL

/// Makes the tables, as a role that owns them; the programs' role may only read and change rows.
package struct Migrator {
    private let wire: Wire
    /// For a statement, and for the end of another migration.
    private static let patience = Duration.seconds(600)
    /// How long a statement waits for others' locks, before everybody waits for it.
    private static let lockTimeout = "2s"
    private static let attempts = 30
    /// Of the transactions of migrations, in one database: "push" in ASCII.
    private static let lock: Int64 = 0x7075_7368

    /// Connects, and waits for that.
    ///
    /// - Throws: ``StoreError``.
    package init(_ addresses: ServerAddresses, deadlines: Deadlines = Deadlines()) throws(StoreError) {
        self.wire = try Servers(addresses, deadlines, .migration).connect().wire
    }

    /// Makes what is not there yet.
    ///
    /// - Parameter role: The programs' role, which is there.
    /// - Returns: Whether there was anything to make.
    /// - Throws: ``StoreError``: the tables are another release's, or are locked all the time.
    package func migrate(programs role: String) throws -> Bool {
        var left = Self.attempts
        while true {
            do { return try self.attempt(role) } catch let error as WireFault {
                left -= 1
                guard error.isLockTimeout, left > 0 else { throw error.ofRead }
            }
        }
    }

    /// One at a time; all of it or nothing.
    private func attempt(_ role: String) throws -> Bool {
        do {
            let found = try self.send([
                PostgreSQLStatement("BEGIN"),
                PostgreSQLStatement("SELECT 1 AS locked FROM pg_advisory_xact_lock($1)", [.integer(Self.lock)]),
                PostgreSQLStatement("SET LOCAL lock_timeout = '\(Self.lockTimeout)'"),
                PostgreSQLStatement(
                    """
                    SELECT quote_ident(current_schema()) AS schema, quote_ident($1) AS role,
                        to_regclass('store_version') IS NOT NULL AS is_there
                    """,
                    [.text(role)]
                ),
            ])
            guard let row = found[3].rows.first, let schema = try row["schema"] as String? else {
                throw StoreError(.unavailable, "the database has no schema for the store's tables")
            }
            guard try !(row["is_there"] as Bool) else {
                try self.check()
                return false
            }
            let made = try self.send(Schema.tables.map { PostgreSQLStatement($0) } + [Self.ownSequences])
            let sequences = try Schema.sequences + (made.last?.rows ?? []).map { try $0["name"] as String }
            let rights = Self.rights(schema: schema, role: try row["role"], sequences: sequences)
            let version = PostgreSQLStatement("INSERT INTO store_version VALUES ($1)", [.integer(Schema.version)])
            _ = try self.send(
                rights.map { PostgreSQLStatement($0) } + [
                    version, SchemaKeys.random().insertion, PostgreSQLStatement("COMMIT"),
                ]
            )
            return true
        } catch {
            // What the transaction came to nothing by is what is to be told.
            if self.wire.isInTransaction { _ = try? self.send([PostgreSQLStatement("ROLLBACK")]) }
            throw error
        }
    }

    private func check() throws {
        let found = try self.send([
            PostgreSQLStatement("SELECT version FROM store_version"), PostgreSQLStatement("COMMIT"),
        ])
        try Schema.check(version: found[0].rows.first?["version"] ?? 0)
    }

    private func send(_ statements: [PostgreSQLStatement]) throws(WireFault) -> [SQLAnswer] {
        try self.wire.exchange(statements, until: .now + Self.patience)
    }

    /// The sequences of our tables' columns, whose last number a program asks for.
    private static let ownSequences = PostgreSQLStatement(
        """
        SELECT quote_ident(sequence.relname) AS name FROM pg_class sequence
            JOIN pg_depend ON pg_depend.objid = sequence.oid AND pg_depend.classid = 'pg_class'::regclass
                AND pg_depend.refclassid = 'pg_class'::regclass AND pg_depend.deptype IN ('a', 'i')
            JOIN pg_class owner ON owner.oid = pg_depend.refobjid
        WHERE sequence.relkind = 'S' AND owner.relname = ANY ($1::text[])
            AND owner.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
        """,
        [.texts(Schema.relations)]
    )

    /// The rights to our own tables alone: others may stand beside them.
    ///
    /// - Parameters:
    ///   - schema: Its name, in quotes where it needs them.
    ///   - role: As the schema's.
    ///   - sequences: As the schema's.
    /// - Returns: The statements.
    private static func rights(schema: String, role: String, sequences: [String]) -> [String] {
        [
            "GRANT USAGE ON SCHEMA \(schema) TO \(role)",
            "GRANT SELECT, INSERT, UPDATE, DELETE ON \(Schema.relations.joined(separator: ", ")) TO \(role)",
            "REVOKE INSERT, UPDATE, DELETE ON store_version, store_key FROM \(role)",
            "GRANT USAGE ON SEQUENCE \(sequences.joined(separator: ", ")) TO \(role)",
        ]
    }
}

extension WireFault {
    /// Others hold what a statement needs.
    fileprivate var isLockTimeout: Bool {
        if case .refused(let refusal) = self { refusal.state == "55P03" } else { false }
    }
}
