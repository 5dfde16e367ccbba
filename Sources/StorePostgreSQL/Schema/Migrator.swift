import PushModel
package import Store
package import StoreKit
import StoreSQL

/// Makes the tables, as a role that owns them; the programs' role may only read and change rows.
package struct Migrator {
    private let wire: Wire
    private let plan: SchemaPlan
    /// Of a database without tables.
    private static let nothing = SchemaVersion(number: 0, opensFrom: 0)
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
        try self.init(addresses, deadlines: deadlines, plan: Schema.plan)
    }

    /// A test has steps of its own.
    init(_ addresses: ServerAddresses, deadlines: Deadlines = Deadlines(), plan: SchemaPlan) throws(StoreError) {
        self.wire = try Servers(addresses, deadlines, .migration).connect().wire
        self.plan = plan
    }

    /// What the tables lack of this program's; any role that may read them can ask.
    ///
    /// - Returns: The version found, 0 if there are no tables, and the steps in order; no step where a program can open the store.
    /// - Throws: ``StoreError`` where no steps lead from there.
    package func pendingSteps() throws -> (found: SchemaVersion, steps: ArraySlice<SchemaStep>) {
        do {
            guard let found = try Schema.found(self.wire, until: .now + Self.patience) else {
                return (Self.nothing, [Schema.creation] + self.plan.steps)
            }
            if self.plan.fit(found) == .ahead, let refusal = self.plan.refusal(of: found) {
                throw StoreError(.unavailable, refusal)
            }
            return (found, self.plan.steps(after: found))
        } catch let error as WireFault { throw error.ofRead }
    }

    /// Takes all steps that are pending.
    ///
    /// - Parameter role: The programs' role, which is there.
    /// - Returns: Whether there was anything to do.
    /// - Throws: ``StoreError``: the tables are a later release's, or are locked all the time.
    package func migrate(programs role: String) throws -> Bool {
        let (found, steps) = try self.pendingSteps()
        return try steps.indices.reduce(false) { isNew, index in
            try self.takeStep(to: found.number + 1 + index - steps.startIndex, programs: role) || isNew
        }
    }

    /// Takes the next step, in one transaction; waits for other migrations.
    ///
    /// - Parameters:
    ///   - number: The version to which it leads; nothing is done where another has taken it.
    ///   - role: The programs' role, which is there, and another than the tables' owner.
    ///   - act: The act that it is; its entry is written with the step.
    /// - Returns: Whether it was taken here.
    /// - Throws: ``StoreError``: the tables are locked all the time, or what PostgreSQL says.
    @discardableResult
    package func takeStep(to number: Int, programs role: String, by act: NewAct? = nil) throws -> Bool {
        var left = Self.attempts
        while true {
            do { return try self.attempt(number, role, act) } catch let error as WireFault {
                left -= 1
                guard error.isLockTimeout, left > 0 else { throw error.ofRead }
            }
        }
    }

    /// Refuses a step that contracts while a program that needs what it takes away has the store open.
    ///
    /// - Parameter number: The version to which it leads.
    /// - Throws: ``StoreError``, a conflict where it is so; ``WireFault``.
    package func checkOlderPrograms(before number: Int) throws {
        guard self.plan.contracts(number) else { return }
        guard let row = try self.send([OpenVersions.exclude(before: number)])[0].rows.first else { return }
        throw SchemaPlan.inUse(number, by: Int(try row["version"] as Int64))
    }

    /// One at a time; all of it or nothing.
    private func attempt(_ number: Int, _ role: String, _ act: NewAct?) throws -> Bool {
        do {
            let (schema, programs) = try self.begin(role)
            let found = try Schema.found(self.wire, until: .now + Self.patience)
            guard (found ?? Self.nothing).number == number - 1 else {
                _ = try self.send([PostgreSQLStatement("ROLLBACK")])
                return false
            }
            try self.checkOlderPrograms(before: number)
            if number == 1 {
                try self.makeTables(schema: schema, programs: programs)
            } else {
                try self.make(self.plan.steps[number - 2].statements, schema: schema, programs: programs)
            }
            if let act, number >= Schema.versionWithActs {
                _ = try self.send([PostgreSQLStatement(shared: ActTable.insertion(act, at: .now))])
            }
            let version = self.plan.version(number, after: found ?? .first)
            _ = try self.send([
                PostgreSQLStatement("DELETE FROM store_version"),
                PostgreSQLStatement(
                    "INSERT INTO store_version VALUES ($1, $2)",
                    [.integer(Int64(version.number)), .integer(Int64(version.opensFrom))]
                ),
                PostgreSQLStatement("COMMIT"),
            ])
            return true
        } catch {
            // What the transaction came to nothing by is what is to be told.
            if self.wire.isInTransaction { _ = try? self.send([PostgreSQLStatement("ROLLBACK")]) }
            throw error
        }
    }

    /// Begins a transaction that no other migration is beside.
    ///
    /// - Returns: The names of the schema and of the programs' role, in quotes where they need them.
    private func begin(_ role: String) throws -> (schema: String, programs: String) {
        let found = try self.send([
            PostgreSQLStatement("BEGIN"),
            PostgreSQLStatement("SELECT 1 AS locked FROM pg_advisory_xact_lock($1)", [.integer(Self.lock)]),
            PostgreSQLStatement("SET LOCAL lock_timeout = '\(Self.lockTimeout)'"),
            PostgreSQLStatement(
                """
                SELECT quote_ident(current_schema()) AS schema, quote_ident($1) AS role, current_user = $1 AS is_own,
                    EXISTS (SELECT 1 FROM pg_roles WHERE rolname = $1) AS is_there
                """,
                [.text(role)]
            ),
        ])
        guard let row = found[3].rows.first else {
            throw StoreError(.corrupt, "PostgreSQL does not say its schema")
        }
        guard try row["is_there"] else {
            throw StoreError(
                .unavailable,
                "there is no role \(role), which the programs connect as; make it with CREATE ROLE"
            )
        }
        guard try !(row["is_own"] as Bool) else {
            throw StoreError(.conflict, "the programs' role \(role) must not own the tables: take the steps as another")
        }
        guard let schema = try row["schema"] as String? else {
            throw StoreError(.unavailable, "the database has no schema for the store's tables")
        }
        return (schema, try row["role"])
    }

    private func makeTables(schema: String, programs: String) throws {
        try self.make(Schema.tables, schema: schema, programs: programs)
        let keep = "REVOKE INSERT, UPDATE, DELETE ON store_version, store_key FROM \(programs)"
        _ = try self.send([PostgreSQLStatement(keep), SchemaKeys.random().insertion])
    }

    /// Makes tables, and gives the programs the rights to them.
    private func make(_ statements: [String], schema: String, programs: String) throws {
        let relations = Schema.relations(of: statements)
        let made = try self.send(statements.map { PostgreSQLStatement($0) } + [Self.ownSequences(of: relations)])
        let own = try (made.last?.rows ?? []).map { try $0["name"] as String }
        let sequences = own + Schema.sequences(of: statements)
        let rights = Self.rights(to: relations, sequences, schema: schema, role: programs)
        _ = try self.send(rights.map { PostgreSQLStatement($0) })
    }

    private func send(_ statements: [PostgreSQLStatement]) throws(WireFault) -> [SQLAnswer] {
        try self.wire.exchange(statements, until: .now + Self.patience)
    }

    /// The sequences of our tables' columns, whose last number a program asks for.
    private static func ownSequences(of relations: [String]) -> PostgreSQLStatement {
        PostgreSQLStatement(
            """
            SELECT quote_ident(sequence.relname) AS name FROM pg_class sequence
                JOIN pg_depend ON pg_depend.objid = sequence.oid AND pg_depend.classid = 'pg_class'::regclass
                    AND pg_depend.refclassid = 'pg_class'::regclass AND pg_depend.deptype IN ('a', 'i')
                JOIN pg_class owner ON owner.oid = pg_depend.refobjid
            WHERE sequence.relkind = 'S' AND owner.relname = ANY ($1::text[])
                AND owner.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
            """,
            [.texts(relations)]
        )
    }

    /// The rights to our own tables alone: others may stand beside them.
    ///
    /// - Parameters:
    ///   - relations: The names of tables and views.
    ///   - sequences: Those of sequences, in quotes where they need them.
    ///   - schema: Its name, as that of a sequence.
    ///   - role: As the schema's.
    /// - Returns: The statements.
    private static func rights(
        to relations: [String],
        _ sequences: [String],
        schema: String,
        role: String
    ) -> [String] {
        var rights = ["GRANT USAGE ON SCHEMA \(schema) TO \(role)"]
        if !relations.isEmpty {
            rights.append("GRANT SELECT, INSERT, UPDATE, DELETE ON \(relations.joined(separator: ", ")) TO \(role)")
        }
        if !sequences.isEmpty {
            rights.append("GRANT USAGE ON SEQUENCE \(sequences.joined(separator: ", ")) TO \(role)")
        }
        return rights
    }
}

extension WireFault {
    /// Others hold what a statement needs.
    var isLockTimeout: Bool {
        if case .refused(let refusal) = self { refusal.state == "55P03" } else { false }
    }
}
