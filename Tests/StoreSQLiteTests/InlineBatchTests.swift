import GRDB
import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing

@testable import StoreSQLite

/// The batch of a small send is columns of its job's row as long as nothing but success comes of it: that is what makes it cheap.
struct InlineBatchTests {
    /// Recorded by its key, with the hint of where it was found, together with others, and with a hint that is another's.
    @Test(arguments: [false, true], [false, true])
    func anAcceptedBatchNeverHasARow(hasHint: Bool, isMistaken: Bool) async throws {
        let keep = try TemporaryStore()
        let scenario = keep.scenario
        for user in ["ann", "bob"] { try await scenario.register(user: user, handle: "aa\(user)") }
        let (keys, deliveries) = try await scenario.fanOut(group: scenario.acceptGroup(["ann", "bob"]).message)
        let found = try await keep.store.status(of: keys, in: deliveries[0].id)
        let hints = isMistaken ? found.reversed() : found
        let outcomes = zip(keys, hints).map {
            BatchOutcome(key: $0, hint: hasHint ? $1.hint : nil, accepted: 1, at: keep.time.wall)
        }
        #expect(try await keep.store.record([outcomes[0]]) == [true])
        #expect(try await keep.store.record(outcomes) == [false, true])
        let rows = try await keep.store.read { try $0.first("SELECT count(*) FROM batch") { $0[0] as Int } }
        #expect(rows == 0)
        for key in keys { #expect(try await scenario.job(key.job).state == .completed) }
    }

    /// A row that cannot be read keeps nobody else waiting, and comes to its end.
    @Test func aBatchThatCannotBeReadDoesNotKeepOthersWaiting() async throws {
        let keep = try TemporaryStore()
        let scenario = keep.scenario
        for user in ["ann", "bob"] { try await scenario.register(user: user, handle: "aa\(user)") }
        let (keys, deliveries) = try await scenario.fanOut(group: scenario.acceptGroup(["ann", "bob"]).message)
        try await keep.store.write { context in
            try context.database.run("UPDATE job SET work = '{}' WHERE id = ?", [keys[0].job.blob])
        }
        keep.time.advance(OutboxMessage.grace)
        #expect(
            try await keep.store.takeDue([.deliver(.apns)], overdue: .zero, limit: 5).map(\.id) == deliveries.map(\.id)
        )
        #expect(try await keep.store.batches(of: deliveries[0].id).map(\.key) == [keys[1]])
        #expect(try await scenario.record(BatchOutcome(key: keys[1], accepted: 1, at: keep.time.wall)))
        keep.time.advance(.seconds(3600))
        try await scenario.expireJobs()
        keep.time.advance(Scenario.closedAfterStop)
        try await scenario.expireJobs()
        #expect(try await scenario.status(of: keys) == [.closed, .closed])
        #expect(try await keep.store.state().jobs == 0)
    }
}
