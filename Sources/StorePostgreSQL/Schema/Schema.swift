import Store
import StoreKit
import StoreSQL

/// The tables, and their version.
///
/// Text is compared by its bytes (`COLLATE "C"`), as in every driver. What changes in a job's life stands in no index, so that such a
/// change is written in place.
enum Schema {
    /// While the driver is not finished, its first version changes without steps.
    static let version: Int64 = 1

    /// In their order.
    static let tables =
        Self.frame + Self.administration + Self.registrations + Self.removals + Self.contents + Self.deadLetters
        + Self.outbox + Self.jobs + Self.batches

    /// The names of the tables and views.
    static var relations: [String] {
        Self.tables.compactMap { $0.prefixMatch(of: #/CREATE (?:TABLE|VIEW) (\w+)/#).map { String($0.1) } }
    }

    /// The names of the sequences that belong to no column.
    static var sequences: [String] {
        Self.tables.compactMap { $0.prefixMatch(of: #/CREATE SEQUENCE (\w+)/#).map { String($0.1) } }
    }

    private static let frame = [
        "CREATE TABLE store_version(version bigint NOT NULL)",
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
        let known = try wire.exchange(
            [PostgreSQLStatement("SELECT to_regclass('store_version') IS NOT NULL AS is_there")],
            until: deadline
        )
        guard try known[0].rows.first?["is_there"] == true else {
            throw StoreError(.unavailable, "the database has no tables of a store's: pushline store migrate makes them")
        }
        let answers = try wire.exchange(
            [
                PostgreSQLStatement("SELECT version FROM store_version"),
                PostgreSQLStatement("SELECT key FROM store_key ORDER BY name"),
            ],
            until: deadline
        )
        try self.check(version: answers[0].rows.first?["version"] ?? 0)
        guard answers[1].rows.count == 2 else { throw StoreError(.corrupt, "a key of the store's is missing") }
        return SchemaKeys(cursors: try answers[1].rows[0]["key"], handles: try answers[1].rows[1]["key"])
    }

    static func check(version: Int64) throws(StoreError) {
        guard version != self.version else { return }
        throw StoreError(
            .unavailable,
            "the store's tables are of version \(version), and this program works with \(self.version)"
        )
    }
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
