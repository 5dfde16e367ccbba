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
        try await self.scenario.finish(partlyDone: try await self.scenario.partlyDone())
        self.fixture.time.advance(.seconds(200_000))
        var removed = 0
        repeat {
            removed = try await self.fixture.store.perform(.remove(.jobs, olderThan: .seconds(1)), limit: 2).rows
            #expect(try await self.scenario.auditFaults() == [])
        } while removed > 0
    }
}
