import Foundation
import GRDB
import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing

@testable import StoreSQLite

/// What retention leaves in the tables, and of the file.
struct RetentionTests {
    private let keep: TemporaryStore
    private let scenario: Scenario
    private var store: SQLiteStore { self.keep.store }

    init() throws {
        self.keep = try TemporaryStore()
        self.scenario = self.keep.scenario
    }

    private static let day = Duration.seconds(86_400)
    private var time: TestTime { self.keep.time }

    private func rows(of table: String) async throws -> Int {
        try await self.keep.store.pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") ?? 0 }
    }

    private func clean(_ kind: Retained, olderThan age: Duration, limit: Int = 100) async throws -> Int {
        try await Scenario.clean(kind, olderThan: age, limit: limit) { try self.keep.another() }
    }

    @Test func aFinishedJobLeavesNoRow() async throws {
        let old = try await self.scenario.failed(3)
        self.time.advance(Self.day)
        let young = try await self.scenario.failed(2, tag: "young")
        self.time.advance(.seconds(3600))
        #expect(try await self.clean(.jobs, olderThan: Self.day) > 0)
        #expect(try await self.store.job(old.id, app: .default) == nil)
        #expect(try await self.scenario.job(young.id).state == .completed)
        for table in ["outcome", "batch"] { #expect(try await self.rows(of: table) == 1, "\(table)") }
        #expect(try await self.rows(of: "delivery") == 2)
        #expect(try await self.clean(.jobs, olderThan: Self.day) == 0)
        self.time.advance(Self.day)
        _ = try await self.clean(.jobs, olderThan: Self.day)
        for table in [
            "job", "message", "outcome", "batch", "cursor", "job_counts", "platform_count", "delivery", "idempotency",
        ] {
            #expect(try await self.rows(of: table) == 0, "\(table)")
        }
    }

    /// Pages that become free are used again.
    @Test func freePagesAreReused() async throws {
        func pages() async throws -> Int {
            try await self.keep.store.pool.read { try Int.fetchOne($0, sql: "PRAGMA page_count") ?? 0 }
        }
        func fill() async throws {
            for _ in 0..<20 {
                _ = try await self.store.put(
                    StoredContent(owner: nil, mediaType: "a/b", bytes: [UInt8](repeating: 1, count: 100_000)),
                    app: .default
                )
            }
            self.time.advance(Self.day)
        }
        try await fill()
        let before = try await pages()
        for _ in 0..<3 {
            #expect(try await self.clean(.contents, olderThan: Self.day) == 20)
            try await fill()
        }
        #expect(try await pages() <= before + 8)
    }

    @Test func theSizeOfTheFileIsKnown() async throws {
        #expect(try await self.store.state().room.space != nil)
    }
}
