import NIOConcurrencyHelpers
import PushModel
import Store
import StoreSQL
import Testing

@testable import StoreSQLite

/// Transactions in two halves, whose guards find something else than was read; SQLite's writer alone never makes them.
struct TransactionTests {
    private let keep: TemporaryStore
    private let tries = NIOLockedValueBox(0)

    init() throws { self.keep = try TemporaryStore() }

    /// Mentions an app by the number of the try, and finds what it expects in the last one.
    private func transaction(last: Int) -> SQLTransaction<Int> {
        SQLTransaction(reading: ["SELECT count(*) AS apps FROM app"]) { [tries] rows in
            let number = tries.withLockedValue { number in
                number += 1
                return number
            }
            let check: SQLStatement = "SELECT name FROM app"
            let writes = [.mention(try AppID("app\(number)")), check.expecting(number < last ? 2 : 1)]
            let before: Int = try rows[0].first?["apps"] ?? -1
            return SQLDecision(writing: writes) { _ in before }
        }
    }

    private func names() async throws -> [String] {
        try await self.keep.store.rows("SELECT name FROM app").map { try $0["name"] }
    }

    @Test func whatWasWrittenIsUndoneAndAllIsDoneAgain() async throws {
        #expect(try await self.keep.store.perform(self.transaction(last: 6)) == 0)
        #expect(self.tries.withLockedValue { $0 } == 6)
        #expect(try await self.names() == ["app6"])
    }

    @Test func afterSixTimesItIsGivenUp() async throws {
        let error = await #expect(throws: StoreError.self) {
            try await self.keep.store.perform(self.transaction(last: 7))
        }
        #expect(error?.code == .unavailable)
        #expect(self.tries.withLockedValue { $0 } == 6)
        #expect(try await self.names().isEmpty)
    }

    @Test func aColumnIsReadByItsNameAndKind() async throws {
        let row = try #require(try await self.keep.store.rows("SELECT 1 AS one, NULL AS none, \("t") AS text").first)
        #expect(try row["one"] as Int == 1)
        #expect(try row["one"] as Bool)
        #expect(try row["none"] as String? == nil)
        #expect(try row["text"] as String? == "t")
        #expect(throws: StoreError.self) { try row["text"] as Int }
        #expect(throws: StoreError.self) { try row["none"] as String }
        #expect(throws: StoreError.self) { try row["other"] as Int? }
    }
}
