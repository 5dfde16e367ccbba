import Foundation
import GRDB
import NIOConcurrencyHelpers
import PushModel
import Store
import StoreContract
import StoreSQL
import Testing

@testable import StoreSQLite

/// What an import costs others: memory, and the time that they wait.
struct ImportCostTests {
    private let keep: TemporaryStore
    private let scenario: Scenario
    private var store: SQLiteStore { self.keep.store }

    init() throws {
        self.keep = try TemporaryStore()
        self.scenario = self.keep.scenario
    }

    /// The memory that an import may use is given back, also where it fails.
    @Test(arguments: [false, true])
    func theCacheShrinksAfterAnImport(fails: Bool) async throws {
        let cache = {
            try await self.keep.store.pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA cache_size") }
        }
        let before = try await cache()
        if fails {
            try await self.keep.store.pool.writeWithoutTransaction { database in
                let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
                try database.execute(sql: "PRAGMA max_page_count = \(pages)")
            }
        }
        let sequence = try await self.store.beginImport()
        let rows = try (0..<2000).map { try ImportedRegistration.row("handle-\($0)", user: "u\($0)", tags: ["t"]) }
        if fails {
            await #expect(throws: StoreError.self) { try await self.scenario.bring(rows, sequence: sequence) }
        } else {
            #expect(try await self.scenario.bring(rows, sequence: sequence).count == 2000)
        }
        #expect(try await cache() == before)
        #expect(before == SQLiteStore.cacheSize)
    }

    @Test func aLargeImportIsSeveralTransactionsAndDelaysNoOtherWrite() async throws {
        let rows = try (0..<20_000).map {
            try ImportedRegistration.row("h\($0 &* 7919 % 20_011)", user: "u\($0)", tags: ["all", "t\($0 % 7)"])
        }
        let before = self.keep.store.writer.commits
        let store = self.store
        let isDone = NIOLockedValueBox(false)
        async let imported = {
            defer { isDone.withLockedValue { $0 = true } }
            return try await self.scenario.bring(rows)
        }()
        var others = 0
        while !isDone.withLockedValue({ $0 }) {
            _ = try await self.scenario.sequence()
            others += 1
        }
        #expect(try await imported.allSatisfy { $0 == .created })
        // Its beginning is a commit of its own; then it comes to an end whenever somebody waits.
        #expect(self.keep.store.writer.commits - before - others >= 3)
        var found = 0
        var cursor: String?
        repeat {
            let page = try await store.registrations(
                RegistrationQuery(app: .default, tag: PushModel.Tag("t3", .folded), cursor: cursor, limit: 1000)
            )
            found += page.items.count
            cursor = page.cursor
        } while cursor != nil
        #expect(found == 2857)
    }
}
