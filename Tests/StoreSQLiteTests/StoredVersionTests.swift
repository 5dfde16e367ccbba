import FaultInjection
import Foundation
import GRDB
import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing

@testable import StoreSQLite

/// A store as version 1 made it, with rows in every table: `Tests/Stores/sqlite-1.sql`.
///
/// One after the other, because the first may write it.
@Suite(.serialized) struct StoredVersionTests {
    private static let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Stores/sqlite-1.sql")

    private let time = TestTime()
    private let folder = FileManager.default.temporaryDirectory.appending(path: "pushline-\(UUID().uuidString)")

    /// How a program with these steps opens the stored one, as a file of its own.
    private func load(_ steps: [SchemaStep] = []) throws -> SQLiteStore.Configuration {
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        let path = self.folder.appending(path: "store.sqlite").path
        let text = try String(contentsOf: Self.file, encoding: .utf8)
        try SQLiteStore.connection(path).writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA foreign_keys = OFF")
            try database.inTransaction {
                try database.execute(sql: text)
                return .commit
            }
        }
        return Self.program(steps, path)
    }

    private static func program(_ steps: [SchemaStep], _ path: String) -> SQLiteStore.Configuration {
        var configuration = SQLiteStore.Configuration(path: path)
        configuration.schema = SchemaPlan(steps: steps)
        return configuration
    }

    private func open(_ configuration: SQLiteStore.Configuration) throws -> SQLiteStore {
        try SQLiteStore(configuration: configuration, source: self.time)
    }

    /// Whoever changes the tables writes a step.
    @Test func itHasTheTablesOfVersion1AndRowsInAll() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        let new = try self.open(Self.program([], self.folder.appending(path: "new.sqlite").path))
        let wanted = try await new.pool.read(StoreText.schema)
        let (found, empty) = try SQLiteStore.connection(self.load().path).inDatabase { database in
            (
                try StoreText.schema(of: database),
                try StoreText.tables(of: database).filter { try StoreText.rows(of: $0, in: database).isEmpty }
            )
        }
        let words = """
            version 1 of the tables has changed: leave Schema and Tests/Stores/sqlite-1.sql as they are, and add a step to Schema.steps
            """
        #expect(found == wanted, "\(words)")
        #expect(empty == [])
    }

    /// What this program makes of the rows.
    private struct Content: Equatable {
        var apps: [AppID: AppSpec]
        var jobs: [Job] = []
        var registrations: [Registration] = []
        var letters: [DeadLetter] = []
        var accounts: [Account] = []
        var keys: [APIKey] = []
        var rules: [HubRule] = []

        init(of store: SQLiteStore) async throws {
            self.apps = try await store.apps()
            for app in self.apps.keys.sorted() {
                self.jobs += try await store.jobs(JobQuery(app: app)).items
                self.registrations += try await store.registrations(RegistrationQuery(app: app)).items
                self.letters += try await store.deadLetters(DeadLetterQuery(app: app)).items
                self.accounts += try await store.accounts(AccountQuery(app: app, limit: 100)).items.map(\.account)
                self.keys += try await store.keys(.app(app))
                self.rules += try await store.hubRules(app: app)
            }
        }

        var least: Int {
            [
                self.apps.count, self.jobs.count, self.registrations.count, self.letters.count, self.accounts.count,
                self.keys.count, self.rules.count,
            ].min() ?? 0
        }
    }

    /// It takes this program's own steps, and then the trial steps of both kinds: nothing is lost, and who may open it then is as the
    /// plan says.
    @Test(arguments: [
        SchemaStep(trial: .expand),
        SchemaStep(.contract, "an index goes", sql: "DROP INDEX job_stopped"),
    ])
    func itIsOpenedAndMigrated(step: SchemaStep) async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let own = Schema.plan
        let older = try self.load(own.steps)
        let refused = #expect(throws: StoreError.self) { try self.open(older) }
        #expect(
            refused?.message.hasSuffix("this program needs version \(own.version): run pushline store migrate") == true
        )
        #expect(try SQLiteStore.pendingSteps(older).steps.count == own.steps.count)
        for number in own.steps.indices { try SQLiteStore.takeStep(to: number + 2, older) }
        let newer = Self.program(own.steps + [step], older.path)
        let before = try await Content(of: self.open(older))
        #expect(before.least > 0 && before.jobs.count > 5)
        // They were accepted when none was kept.
        #expect(before.jobs.allSatisfy { $0.request == nil })
        let behind = #expect(throws: StoreError.self) { try self.open(newer) }
        #expect(
            behind?.message.hasSuffix("this program needs version \(own.version + 1): run pushline store migrate")
                == true
        )
        #expect(try SQLiteStore.pendingSteps(newer).steps.count == 1)
        try SQLiteStore.takeStep(to: own.version + 1, newer)
        let store = try self.open(newer)
        #expect(try await Content(of: store) == before)
        #expect(try await store.checkFile() == [])
        if step.kind == .expand {
            #expect(try await Content(of: self.open(older)) == before)
        } else {
            let ahead = #expect(throws: StoreError.self) { try self.open(older) }
            #expect(ahead?.message.contains("run the newer one, or restore a backup from before the update") == true)
            #expect(ahead?.message.contains("\n") == false)
        }
    }
}

/// A store as SQL.
enum StoreText {
    /// Of tables, indexes and views; triggers are tests' own.
    static func schema(of database: GRDB.Database) throws -> Set<String> { Set(try Self.statements(of: database)) }

    private static func statements(of database: GRDB.Database) throws -> [String] {
        try String.fetchAll(
            database,
            sql: """
                SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND type <> 'trigger' AND name NOT LIKE 'sqlite_%'
                ORDER BY type <> 'table', rowid
                """
        )
    }

    static func tables(of database: GRDB.Database) throws -> [String] {
        try String.fetchAll(
            database,
            sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
        )
    }

    /// The statements that insert a table's rows.
    static func rows(of table: String, in database: GRDB.Database) throws -> [String] {
        let columns = try String.fetchAll(database, sql: "SELECT name FROM pragma_table_info(?)", arguments: [table])
        let values = columns.map { "quote(\"\($0)\")" }.joined(separator: " || ', ' || ")
        return try String.fetchAll(database, sql: "SELECT \(values) FROM \(table)").map {
            "INSERT INTO \(table) VALUES (\($0))"
        }
    }
}
