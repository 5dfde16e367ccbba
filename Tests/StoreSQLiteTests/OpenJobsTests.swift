import Foundation
import GRDB
import PushModel
import Store
import StoreContract
import StoreSQL
import Testing

@testable import StoreSQLite

/// The indexes of unfinished jobs, whose conditions name what changes at a job's end alone.
struct OpenJobsTests {
    /// What the indexes rest on.
    @Test(arguments: ["state = 10", "finished = 1", "stopped = 1", "state = 3"])
    func aCheckFindsAJobWhoseTimesContradictItsState(damage: String) async throws {
        let keep = try TemporaryStore()
        let scenario = keep.scenario
        let job = try await scenario.accept(scenario.send(to: .tag(Tag("t", .folded))))
        #expect(try await keep.store.audit(after: 0, limit: 10).faults == [])
        try await keep.store.pool.writeWithoutTransaction { try $0.execute(sql: "UPDATE job SET \(damage)") }
        let faults = try await keep.store.audit(after: 0, limit: 10).faults
        #expect(faults.contains { $0.hasPrefix("job \(job.id): 1 of its times") }, "\(faults)")
    }
}
