import GRDB
import PushModel
import Store
import StoreKit
import Testing

@testable import StoreSQL
@testable import StoreSQLite

/// What the overview asks every other second: each row is found by its number or an index.
@Suite struct OverviewPlanTests {
    private func plan(_ statement: SQLStatement, in store: SQLiteStore) async throws -> [String] {
        try await store.pool.read { database in
            let explained = try database.makeStatement(sql: "EXPLAIN QUERY PLAN " + statement.text)
            explained.setUncheckedArguments([])
            return try Row.fetchAll(explained).map { $0["detail"] as String }
        }
    }

    private func walks(_ plan: [String]) -> [String] {
        plan.filter { line in ["message", "batch", "job"].contains { line.hasPrefix("SCAN \($0)") } }
    }

    @Test func whatIsTriedAgainIsFoundInItsGroup() async throws {
        let keep = try TemporaryStore()
        let columns = ["priority", "app", "queue", "state", "blocked_on"]
        let group = SQLRow(columns: columns, values: columns.map { _ in .integer(2) })
        let plan = try await self.plan(try QueueTable.delay(in: group), in: keep.store)
        let key = "priority=? AND app=? AND queue=? AND state=? AND blocked_on=?"
        #expect(plan.contains("SEARCH message USING INDEX message_due (\(key))"), "\(plan)")
        #expect(self.walks(plan).isEmpty, "\(plan)")
    }

    @Test(arguments: [Job.State.expired, .abandoned])
    func whatEndedBadlyIsFoundByItsState(state: Job.State) async throws {
        let keep = try TemporaryStore()
        let plan = try await self.plan(JobTable.ended(state, of: .default, since: .now), in: keep.store)
        #expect(plan.contains("SEARCH job USING INDEX job_failed (app=? AND state=?)"), "\(plan)")
        // The newest are found in their order.
        #expect(self.walks(plan).isEmpty && !plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
    }
}
