import GRDB
import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing

@testable import StoreSQLite

/// A row that makes no sense keeps nobody else waiting.
struct UnreadableRowTests {
    @Test func anUnreadableStoppedJobDoesNotBlockOthers() async throws {
        let keep = try TemporaryStore()
        let scenario = keep.scenario
        for user in ["ann", "bob"] { try await scenario.register(user: user, handle: "aa\(user)", tags: ["t"]) }
        let broken = try await scenario.accept(scenario.campaign(to: "t"), lifetime: .seconds(10))
        _ = try await scenario.fanOut(broken)
        try await keep.store.write { context in
            try context.database.run("UPDATE job SET work = '{}' WHERE id = ?", [broken.id.blob])
        }
        keep.time.advance(.seconds(11))
        try await scenario.expireJobs()
        keep.time.advance(Scenario.closedAfterStop)
        // Another app's job, whose time is over.
        let other = try await scenario.accept(
            scenario.campaign(to: "t"),
            app: AppID("other"),
            lifetime: .seconds(10)
        )
        keep.time.advance(.seconds(11))
        for _ in 0..<3 { _ = try? await scenario.expireJobs() }
        #expect(try await scenario.job(other.id, app: AppID("other")).state == .expired)
        #expect(try await keep.store.state().jobs == 0)
    }

    /// Whoever writes the file writes no lines of the log with it.
    @Test(arguments: ["a\nb", "a,b", "", String(repeating: "x", count: 65)])
    func aRequestThatCannotStandInALineIsNone(text: String) async throws {
        let keep = try TemporaryStore()
        let scenario = keep.scenario
        let job = try await scenario.accept(scenario.campaign(to: "t"))
        try await keep.store.write { context in
            try context.database.run("UPDATE job SET request = ? WHERE id = ?", [text, job.id.blob])
        }
        let found = try await scenario.job(job.id)
        #expect(found.request == nil && found.state == .queued)
        let claim = try #require(try await scenario.claimCampaign(job))
        #expect(claim.campaign.job.trace == JobTrace(job.id))
    }

    /// The sweeper asks for the batches of each message that it has taken: one that fails fails all of them.
    @Test func anUnreadableRetryDoesNotFailOthers() async throws {
        let keep = try TemporaryStore()
        let scenario = keep.scenario
        try await scenario.register(user: "ann", handle: "aa", tags: ["t"])
        let job = try await scenario.accept(scenario.campaign(to: "t"))
        let keys = try await scenario.fanOut(job)
        let retries = [RetryDevice(row: 1, tries: 1, wait: .seconds(1))]
        #expect(try await scenario.record(BatchOutcome(key: keys[0], retries: retries, at: keep.time.wall)))
        try await keep.store.write { context in
            try context.database.run("UPDATE batch SET retries = x'00' WHERE attempt = 1")
        }
        keep.time.advance(.seconds(1))
        let taken = try await keep.store.takeDue([.deliver(.apns)], overdue: .zero, limit: 5)
        #expect(taken.count == 1)
        #expect(try await keep.store.batches(of: taken[0].id).isEmpty)
    }
}
