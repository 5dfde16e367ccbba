import FaultInjection
import PushModel
import Store
import StoreKit
import StoreSQL

/// The version of a file's tables, and the steps from one to the next.
extension Schema {
    /// What has changed since version 1.
    static let plan = SchemaPlan(steps: Self.steps + TrialStep.asked.map { SchemaStep(trial: $0) })

    private static let steps = [
        SchemaStep(.expand, "adds the column job.request", sql: "ALTER TABLE job ADD COLUMN request TEXT"),
        SchemaStep(.expand, "adds the table act", sql: ActSchema.tables),
    ]

    /// The version from which on there is the table of acts.
    private static let versionWithActs = 3

    /// The tables that a file has.
    enum Found: Equatable {
        /// None: the file is new.
        case none
        case version(SchemaVersion)
        /// Those of a program from before version 1, or another program's.
        case foreign
    }

    /// The schema found in a file.
    static func found(in database: Database) throws -> Found {
        guard try database.exists("SELECT 1 FROM sqlite_master LIMIT 1") else { return .none }
        let table = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema'"
        guard try database.exists(table) else { return .foreign }
        let version = try database.first("SELECT version, opens_from FROM schema") {
            SchemaVersion(number: $0["version"], opensFrom: $0["opens_from"])
        }
        return version.map { .version($0) } ?? .foreign
    }

    /// Takes one step: the caller's transaction has the whole of it.
    ///
    /// - Parameters:
    ///   - number: The version to which it leads.
    ///   - plan: The steps.
    ///   - found: The version that the store had.
    ///   - database: In a transaction of the caller's.
    ///   - act: The act that it is.
    /// - Throws: The database's error.
    static func take(
        _ number: Int,
        of plan: SchemaPlan,
        after found: SchemaVersion,
        in database: Database,
        by act: NewAct? = nil
    ) throws {
        try database.execute(sql: plan.steps[number - 2].sql)
        let version = plan.version(number, after: found)
        try self.mark(version, in: database)
        try self.record(act, in: database, of: version)
    }

    /// Writes the entry of an act into a file, if its tables have one for it.
    static func record(_ act: NewAct?, in database: Database, of version: SchemaVersion) throws {
        guard let act, version.number >= self.versionWithActs else { return }
        _ = try database.answer(ActTable.insertion(act, at: .now))
    }

    static func mark(_ version: SchemaVersion, in database: Database) throws {
        try database.run(
            "INSERT OR REPLACE INTO schema(id, version, opens_from) VALUES (1, ?, ?)",
            [version.number, version.opensFrom]
        )
    }

    static let versions = """
        -- One row: the last step that was taken, and the oldest version of a program that works with the tables (SchemaPlan).
        CREATE TABLE schema(
            id INTEGER PRIMARY KEY CHECK (id = 1),
            version INTEGER NOT NULL,
            opens_from INTEGER NOT NULL
        ) STRICT;
        """
}
