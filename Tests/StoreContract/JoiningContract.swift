import PushModel
import Store
import Testing

/// What any store must do with sends that join a message which lingers (rule 15).
@Suite(.everyStore) struct JoiningContract {
    let fixture: any StoreFixture
    let scenario: Scenario
    var store: any ResultStore { self.scenario.store }

    init() throws {
        self.fixture = try StoreFixtures.make()
        self.scenario = Scenario(self.fixture)
    }

    private func jobs(_ count: Int, priority: Priority = .normal) throws -> [NewJob] {
        let user = try UserName("ann", .folded)
        return (0..<count).map { _ in
            NewJob(
                app: .default,
                priority: priority,
                work: .send(self.scenario.send(to: .tag(Tag(user: user)))),
                lifetime: .seconds(3600)
            )
        }
    }

    private func accept(_ count: Int, _ priority: Priority = .normal, joining: MessageID?) async throws
        -> [OutboxMessage]
    {
        try await self.store.accept(self.jobs(count, priority: priority), joining: joining).messages
    }

    @Test func sendsJoinAMessageThatIsNotTaken() async throws {
        try await self.scenario.register(user: "ann", handle: "aa")
        let message = try #require(try await self.accept(2, joining: nil).first)
        // Another process accepts in between: its sends are in no message of ours.
        _ = try await self.fixture.another().accept(self.jobs(3))
        #expect(try await self.accept(4, joining: message.id) == [])
        let (keys, _) = try await self.scenario.fanOut(group: message)
        #expect(keys.count == 6)
        #expect(try await self.fixture.faults() == [])
    }

    /// A send to many devices, alone in its message when it was peeked at, and a group when its first page is written.
    @Test func aCampaignJoinedByAnotherSendIsAGroup() async throws {
        for number in 0...SmallSend.maximumDevices {
            try await self.scenario.register(user: "ann", handle: "aa\(number)")
        }
        let message = try #require(try await self.accept(1, joining: nil).first)
        let peeked = try #require(try await self.store.claim(message.id, peeking: true))
        guard case .campaign(let campaign) = peeked.work else { throw Unexpected("\(peeked)") }
        #expect(try await self.accept(1, joining: message.id) == [])
        var pages = CampaignClaim(scenario: self.scenario, claim: peeked, campaign: campaign)
        let through = try pages.cursor().through
        let devices = SmallSend.maximumDevices + 1
        #expect(try await pages.commit(devices: devices, through: through, isDone: true) == .joined)
        let claim = try #require(try await self.store.claim(message.id, peeking: false))
        #expect(claim.message.epoch == OutboxMessage.claimStep)
        let (step, _) = try await self.scenario.step(for: claim)
        #expect(step.sends.count == 2)
        let written = try await self.scenario.commit(step, of: claim).written
        #expect(written.isDone && written.ownMessages.count == 2)
        // Each goes on by itself.
        for message in written.ownMessages {
            let alone = try #require(try await self.store.claim(message.id, peeking: true))
            guard case .campaign(let campaign) = alone.work else { throw Unexpected("\(alone)") }
            var pages = CampaignClaim(scenario: self.scenario, claim: alone, campaign: campaign)
            #expect(try await pages.commit(devices: devices, through: through, isDone: true).isMore)
        }
        #expect(try await self.fixture.faults() == [])
    }

    @Test func sendsDoNotJoinMarkedClaimedFullOrOtherPriorityMessages() async throws {
        let marked = try #require(try await self.accept(1, joining: nil).first)
        try await self.store.markPublished([marked])
        #expect(try await self.accept(1, joining: marked.id).count == 1)
        let claimed = try #require(try await self.accept(1, joining: nil).first)
        _ = try await self.store.claim(claimed.id, peeking: false)
        #expect(try await self.accept(1, joining: claimed.id).count == 1)
        let full = try #require(try await self.accept(OutboxMessage.maximumMembers, joining: nil).first)
        #expect(try await self.accept(1, joining: full.id).count == 1)
        let normal = try #require(try await self.accept(1, joining: nil).first)
        #expect(try await self.accept(1, .low, joining: normal.id).map(\.priority) == [.low])
        #expect(try await self.store.audit(after: 0, limit: 10_000).faults == [])
    }
}
