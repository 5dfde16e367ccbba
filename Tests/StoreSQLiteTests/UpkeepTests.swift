import Foundation
import GRDB
import PushModel
import Store
import StoreContract
import StoreSQL
import Testing

@testable import StoreSQLite

/// Copies of a store, and what a check of it finds.
struct UpkeepTests {
    private let keep: TemporaryStore
    private let scenario: Scenario
    private var store: SQLiteStore { self.keep.store }

    init() throws {
        self.keep = try TemporaryStore()
        self.scenario = self.keep.scenario
    }

    private func path(_ name: String) -> String { self.keep.folder.appendingPathComponent(name).path }

    private func open(_ path: String) throws -> SQLiteStore {
        try SQLiteStore(configuration: .init(path: path), source: self.keep.time)
    }

    @Test func aBackupIsWholeWhileTheStoreIsInUse() async throws {
        let job = try await self.scenario.partlyDone()
        let file = self.path("copy.sqlite")
        let scenario = self.scenario
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for _ in 0..<50 { _ = try await scenario.accept(scenario.campaign(to: "t")) }
            }
            try SQLiteStore.backUp(self.store.configuration.path, to: file)
            try await group.waitForAll()
        }
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o600)
        let copy = try self.open(file)
        #expect(try await copy.checkFile() == [])
        #expect(try await copy.audit(after: 0, limit: 1000).faults == [])
        #expect(try await copy.job(job.id, app: .default)?.state == .retrying)
        let error = #expect(throws: StoreError.self) { try SQLiteStore.backUp(self.store.configuration.path, to: file) }
        #expect(error?.code == .conflict)
        let left = try FileManager.default.contentsOfDirectory(atPath: self.keep.folder.path)
        #expect(!left.contains { $0.hasSuffix(".partial") })
    }

    /// The disaster: a backup, more work, the store lost, the backup put back, and everything goes on from there.
    @Test func aBackupCanBeRestored() async throws {
        let job = try await self.scenario.partlyDone()
        let file = self.path("copy.sqlite")
        try SQLiteStore.backUp(self.store.configuration.path, to: file)
        try await self.scenario.finish(partlyDone: job)
        let path = self.path("restored.sqlite")
        // What another process has open is not replaced, and nothing is left behind.
        do {
            let lock = try FileLock(path: path + ".users")
            #expect(lock.tryLockShared())
            let error = #expect(throws: StoreError.self) { try SQLiteStore.restore(file, to: path) }
            #expect(error?.code == .unavailable)
        }
        try SQLiteStore.restore(file, to: path)
        let store = try self.open(path)
        #expect(try await store.audit(after: 0, limit: 1000).faults == [])
        #expect(try await store.registrations(RegistrationQuery(app: .default, state: .live)).items.count == 6)
        let key = BatchKey(job: job.id, pns: .apns, page: 0, attempt: 1)
        #expect(try await store.record([BatchOutcome(key: key, accepted: 1, at: self.keep.time.wall)]) == [true])
        #expect(try await store.job(job.id, app: .default)?.state == .completed)
        #expect(try await store.audit(after: 0, limit: 1000).faults == [])
        let error = #expect(throws: StoreError.self) { try SQLiteStore.restore(file, to: path) }
        #expect(error?.code == .conflict)
    }

    /// A store that lost its file but not its log would take the log for the backup's.
    @Test(arguments: ["-wal", "-shm"])
    func aRestoreRefusesLeftoverFilesOfAStore(name: String) async throws {
        let file = self.path("copy.sqlite")
        try SQLiteStore.backUp(self.store.configuration.path, to: file)
        let path = self.path("restored.sqlite")
        try Data([1]).write(to: URL(filePath: path + name))
        #expect(throws: StoreError.self) { try SQLiteStore.restore(file, to: path) }
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test(arguments: ["", "not a database", "SQLite format 3\u{0}"])
    func aFileThatIsNoBackupIsRefused(text: String) throws {
        let file = self.path("file")
        try Data(text.utf8).write(to: URL(filePath: file))
        #expect(throws: StoreError.self) { try SQLiteStore.restore(file, to: self.path("restored.sqlite")) }
        #expect(!FileManager.default.fileExists(atPath: self.path("restored.sqlite")))
    }

    struct Damage: Sendable, CustomTestStringConvertible {
        let sql: String
        let word: String
        var testDescription: String { self.sql }
    }

    static let damages: [Damage] = [
        Damage(sql: "UPDATE delivery_count SET count = count + 1 WHERE class = 1", word: "6 targets, but 7 outcomes"),
        Damage(sql: "UPDATE outcome SET accepted = accepted - 1 WHERE page = 1", word: "its counts are"),
        Damage(sql: "DELETE FROM outcome WHERE page = 1", word: "closed without an outcome"),
        Damage(sql: "DELETE FROM batch WHERE page = 1", word: "have no batch"),
        Damage(sql: "UPDATE batch SET open = 1 WHERE page = 1", word: "open though it is final"),
        Damage(sql: "UPDATE outcome SET retries = 2 WHERE attempt = 0 AND page = 0", word: "than were retried"),
        Damage(sql: "UPDATE outcome SET accepted = 0, failed = 1 WHERE attempt = 1", word: "its counts are"),
        Damage(sql: "UPDATE backlog SET unfinished = unfinished + 1", word: "kept as unfinished"),
    ]

    @Test(arguments: damages)
    func aCheckFindsDamage(damage: Damage) async throws {
        try await self.scenario.finish(partlyDone: try await self.scenario.partlyDone())
        #expect(try await self.keep.store.audit(after: 0, limit: 1000).faults == [])
        try await self.keep.store.write { try $0.database.execute(sql: damage.sql) }
        let faults = try await self.keep.store.audit(after: 0, limit: 1000).faults
        #expect(faults.contains { $0.contains(damage.word) }, "\(faults)")
    }

    /// A device to retry without a next attempt is lost.
    @Test func aCheckFindsALostDevice() async throws {
        _ = try await self.scenario.partlyDone()
        #expect(try await self.keep.store.audit(after: 0, limit: 1000).faults == [])
        try await self.keep.store.write { try $0.database.execute(sql: "DELETE FROM batch WHERE attempt = 1") }
        let faults = try await self.keep.store.audit(after: 0, limit: 1000).faults
        #expect(faults.contains { $0.contains("than were retried") })
    }
}
