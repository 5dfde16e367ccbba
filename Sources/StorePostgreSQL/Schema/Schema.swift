import FaultInjection
import Store
import StoreKit
import StoreSQL

/// The tables, and their version.
///
/// Text is compared by its bytes (`COLLATE "C"`), as in every driver. What changes in a job's life stands in no index, so that such a
/// change is written in place; messages and batches are found by what changes, and ``jobs`` and ``batches`` say what that costs.
enum Schema {
    /// What has changed since version 1.
    static let plan = SchemaPlan(
        steps: [SchemaStep(.expand, "adds the table act", sql: Self.acts.joined(separator: ";"))]
            + TrialStep.asked.map { SchemaStep(trial: $0) }
    )

    /// The version from which on there is the table of acts.
    static let versionWithActs = 2

    /// What leads to version 1; its statements are ``tables``.
    static let creation = SchemaStep(.expand, "makes the tables", sql: "")

    /// In their order.
    static let tables =
        Self.frame + Self.administration + Self.registrations + Self.removals + Self.contents + Self.deadLetters
        + Self.outbox + Self.jobs + Self.batches + Self.distinctness

    /// How many values columns have is said, and not counted.
    ///
    /// The planner takes it that each value is in as many rows. Where one app has nearly all that there is, it would look for the few rows
    /// of another by walking through all, in the order of a list.
    private static let distinctness = [
        """
        ALTER TABLE job ALTER COLUMN app SET (n_distinct = 10000), ALTER COLUMN "user" SET (n_distinct = -0.1),
            ALTER COLUMN key SET (n_distinct = -0.1), ALTER COLUMN label SET (n_distinct = -0.1)
        """,
        """
        ALTER TABLE registration ALTER COLUMN app SET (n_distinct = 10000), ALTER COLUMN "user" SET (n_distinct = -0.1)
        """,
        """
        ALTER TABLE rich ALTER COLUMN app SET (n_distinct = 10000), ALTER COLUMN sender SET (n_distinct = -0.1),
            ALTER COLUMN addressee SET (n_distinct = -0.1)
        """,
        "ALTER TABLE delivery ALTER COLUMN job SET (n_distinct = -0.1)",
    ]

    /// What makes all that there is.
    private static var statements: [String] { Self.tables + Self.plan.steps.flatMap(\.statements) }

    /// The names of all tables and views.
    static var relations: [String] { Self.relations(of: Self.statements) }

    /// The names of the tables and views that some statements make.
    static func relations(of statements: [String]) -> [String] {
        statements.compactMap { $0.prefixMatch(of: #/CREATE (?:TABLE|VIEW) (\w+)/#).map { String($0.1) } }
    }

    /// The names of all tables.
    static var tableNames: [String] {
        Self.statements.compactMap { $0.prefixMatch(of: #/CREATE TABLE (\w+)/#).map { String($0.1) } }
    }

    /// The names of the sequences that some statements make, and that belong to no column.
    static func sequences(of statements: [String]) -> [String] {
        statements.compactMap { $0.prefixMatch(of: #/CREATE SEQUENCE (\w+)/#).map { String($0.1) } }
    }

    private static let frame = [
        // One row: the last step that was taken, and the oldest version of a program that works with the tables (SchemaPlan).
        "CREATE TABLE store_version(version bigint NOT NULL, opens_from bigint NOT NULL)",
        // What seals cursors, and what makes the numbers of handles.
        "CREATE TABLE store_key(name text COLLATE \"C\" PRIMARY KEY, key bytea NOT NULL)",
        // A row a connection; each of its transactions changes it, in place.
        """
        CREATE TABLE writer(id bytea PRIMARY KEY, epoch bigint NOT NULL, serial bigint NOT NULL, seen bigint NOT NULL)
            WITH (fillfactor = 10)
        """,
        // Ends a transaction whose guard fails. No other rule stands in the database: two releases at a time would share it.
        """
        CREATE FUNCTION must(holds boolean) RETURNS boolean LANGUAGE plpgsql AS $$
        BEGIN
            IF holds IS NOT TRUE THEN RAISE EXCEPTION 'a guard fails' USING ERRCODE = '\(ServerRefusal.guardFails)'; END IF;
            RETURN true;
        END $$
        """,
    ]

    /// What a program needs of the tables.
    ///
    /// - Throws: ``StoreError`` where they are not there, or are another release's; ``WireFault``.
    static func keys(_ wire: Wire, until deadline: ContinuousClock.Instant) throws -> SchemaKeys {
        guard let found = try self.found(wire, until: deadline) else {
            let advice =
                "pushline store migrate --owner ROLE --password-file FILE makes them, pushline store move brings a file's"
            throw StoreError(.unavailable, "the database has no tables of a store's: \(advice)")
        }
        if let refusal = self.plan.refusal(of: found) { throw StoreError(.unavailable, refusal) }
        let keys = PostgreSQLStatement("SELECT key FROM store_key ORDER BY name")
        let rows = try wire.exchange([keys], until: deadline)[0].rows
        guard rows.count == 2 else { throw StoreError(.corrupt, "a key of the store's is missing") }
        return SchemaKeys(cursors: try rows[0]["key"], handles: try rows[1]["key"])
    }

    /// The version of the tables; nil = there are none.
    ///
    /// - Throws: ``StoreError`` where they say none; ``WireFault``.
    static func found(_ wire: Wire, until deadline: ContinuousClock.Instant) throws -> SchemaVersion? {
        let isThere = PostgreSQLStatement("SELECT to_regclass('store_version') IS NOT NULL AS is_there")
        guard try wire.exchange([isThere], until: deadline)[0].rows.first?["is_there"] == true else { return nil }
        return try self.version(in: wire.exchange([self.version], until: deadline)[0])
    }

    /// Asks tables that are there for their version.
    static let version = PostgreSQLStatement("SELECT version, opens_from FROM store_version")

    /// Why this program does not work with the tables.
    ///
    /// - Parameter answer: To ``version``.
    /// - Returns: The reason, and what to do; nil = it does.
    /// - Throws: ``StoreError`` where it says none.
    static func refusal(_ answer: SQLAnswer) throws(StoreError) -> String? {
        self.plan.refusal(of: try self.version(in: answer))
    }

    private static func version(in answer: SQLAnswer) throws(StoreError) -> SchemaVersion {
        guard let row = answer.rows.first else {
            throw StoreError(.corrupt, "the store's tables do not say their version")
        }
        let (number, opensFrom) = (try row["version"] as Int64, try row["opens_from"] as Int64)
        return SchemaVersion(number: Int(number), opensFrom: Int(opensFrom))
    }
}

extension SchemaStep {
    /// Its statements: no text of ours has such a sign.
    var statements: [String] { self.sql.split(separator: ";").map(String.init) }
}

/// What the store makes its numbers and cursors with.
struct SchemaKeys: Sendable {
    let cursors: [UInt8]
    let handles: [UInt8]

    static func random() -> SchemaKeys {
        var generator = SystemRandomNumberGenerator()
        func bytes(_ count: Int) -> [UInt8] {
            (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        }
        return SchemaKeys(cursors: bytes(ListCursors.keySize), handles: bytes(16))
    }

    var insertion: PostgreSQLStatement {
        PostgreSQLStatement(
            "INSERT INTO store_key(name, key) SELECT * FROM unnest($1::text[], $2::bytea[])",
            [.texts(["cursors", "handles"]), .byteStrings([self.cursors, self.handles])]
        )
    }
}
