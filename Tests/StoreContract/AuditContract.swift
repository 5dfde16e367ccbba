import PushModel
import Store
import Testing

/// What any store must tell when its counts are checked (rules 3 and 14).
@Suite(.everyStore) struct AuditContract {
    let fixture: any StoreFixture
    let scenario: Scenario

    init() throws {
        self.fixture = try StoreFixtures.make()
        self.scenario = Scenario(self.fixture)
    }

    /// Two batches, one of which has a device to retry, and one that failed.
    private func fill() async throws -> Job {
        for number in 0..<6 {
            try await self.scenario.register(user: "u\(number)", handle: "aa\(number)", tags: ["t"])
        }
        let job = try await self.scenario.accept(self.scenario.campaign(to: "t"))
        let keys = try await self.scenario.fanOut(job, pages: 3)
        let failure = DeviceFailure(row: 1, failure: .rejected, status: 400, reason: "Bad")
        let retry = RetryDevice(row: 2, tries: 1, wait: .zero)
        let time = self.fixture.time.wall
        let first = BatchOutcome(key: keys[0], accepted: 1, failures: [failure], retries: [retry], at: time)
        _ = try await self.scenario.record(first)
        _ = try await self.scenario.record(BatchOutcome(key: keys[1], accepted: 3, at: time))
        return job
    }

    private func finish(_ job: Job) async throws {
        let key = BatchKey(job: job.id, pns: .apns, page: 0, attempt: 1)
        #expect(try await self.scenario.record(BatchOutcome(key: key, accepted: 1, at: self.fixture.time.wall)))
    }

    @Test func anAuditIsPaged() async throws {
        for _ in 0..<5 { _ = try await self.scenario.accept(self.scenario.campaign(to: "t")) }
        var (jobs, pieces, cursor) = (0, 0, Int64?(0))
        while let from = cursor {
            let audit = try await self.fixture.store.audit(after: from, limit: 2)
            jobs += audit.jobs
            pieces += 1
            cursor = audit.next
        }
        #expect(jobs == 5)
        #expect(pieces == 3)
    }

    /// A read transaction is not to last as long as it takes to count many lists.
    @Test func aPieceEndsBehindALongList() async throws {
        for count in [20_000, 1] { _ = try await self.scenario.accept(.list(apns: count)) }
        let first = try await self.fixture.store.audit(after: 0, limit: 10)
        #expect(first.jobs == 1)
        let second = try await self.fixture.store.audit(after: try #require(first.next), limit: 10)
        #expect(second.jobs == 1)
        #expect(second.next == nil)
        #expect(first.faults + second.faults == [])
    }

    /// A job that is being removed does not add up any more, and is not a fault.
    @Test func aPartlyRemovedJobIsNoFault() async throws {
        try await self.finish(try await self.fill())
        self.fixture.time.advance(.seconds(200_000))
        var removed = 0
        repeat {
            removed = try await self.fixture.store.perform(.remove(.jobs, olderThan: .seconds(1)), limit: 2).rows
            #expect(try await self.scenario.auditFaults() == [])
        } while removed > 0
    }
}
