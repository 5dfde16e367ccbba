import PushModel
import Store
import Testing

/// What any store must do so that nobody who is late changes what somebody has done since: epochs (rules 2 and 4).
@Suite(.everyStore) struct FencingContract {
    let fixture: any StoreFixture
    let scenario: Scenario
    var store: any ResultStore { self.scenario.store }
    var time: TestTime { self.fixture.time }

    init() throws {
        self.fixture = try StoreFixtures.make()
        self.scenario = Scenario(self.fixture)
    }

    private func register(_ users: [String]) async throws {
        for user in users { try await self.scenario.register(user: user, handle: "aa\(user)", tags: ["t"]) }
    }

    private func outcome(_ key: BatchKey) -> BatchOutcome { BatchOutcome(key: key, accepted: 1, at: self.time.wall) }

    enum Later: CaseIterable { case claimed, deferred, deferredByWorker, taken, committed }

    /// Raises a send message's epoch in one of the ways there are.
    private func raise(_ message: OutboxMessage, _ later: Later) async throws {
        switch later {
        case .claimed: _ = try #require(try await self.store.claim(message.id, peeking: false))
        case .deferred:
            #expect(try await self.store.defer(message.id, epoch: message.epoch, Deferral(pause: .seconds(5))))
        case .deferredByWorker:
            #expect(try await self.store.defer(message.id, epoch: nil, Deferral(pause: .seconds(5))))
        case .taken:
            self.time.advance(.seconds(1))
            #expect(try await self.scenario.takeDue().map(\.id) == [message.id])
        case .committed:
            let peeked = try #require(try await self.store.claim(message.id, peeking: true))
            var (step, _) = try await self.scenario.step(for: peeked)
            step.sends.removeLast()
            #expect(try await self.scenario.commit(step, of: peeked).isMore)
        }
    }

    /// The process that published it says so only a moment later.
    @Test(arguments: Later.allCases) func aLatePublishedMarkChangesNothing(later: Later) async throws {
        try await self.register(["ann", "bob"])
        let (message, _) = try await self.scenario.acceptGroup(["ann", "bob"])
        try await self.raise(message, later)
        // A mark that counted would make the message due only in a whole lease from here.
        self.time.advance(.seconds(4))
        try await self.store.markPublished([message])
        self.time.advance(.seconds(later == .taken ? 26 : later == .claimed || later == .committed ? 56 : 1))
        #expect(try await self.scenario.takeDue([.send]).map(\.id) == [message.id])
    }

    @Test(arguments: Later.allCases) func aStaleClaimCommitsNothing(later: Later) async throws {
        try await self.register(["ann", "bob"])
        let (message, jobs) = try await self.scenario.acceptGroup(["ann", "bob"])
        let stale = try #require(try await self.store.claim(message.id, peeking: false))
        let (step, keys) = try await self.scenario.step(for: stale)
        self.time.advance(.seconds(60))
        try await self.raise(stale.message, later)
        #expect(try await self.scenario.commit(step, of: stale) == .lost)
        #expect(try await !self.store.extend(stale))
        #expect(try await self.store.commit(.abandon(reason: "late"), of: stale) == .lost)
        let written = later == .committed ? 1 : 0
        #expect(try await self.scenario.status(of: keys).count { $0 == .open } == written)
        #expect(try await self.scenario.job(jobs[1]).state == .queued)
    }

    @Test func aDeferralUnderAnOlderEpochChangesNothing() async throws {
        let (message, _) = try await self.scenario.acceptGroup(["ann"])
        let claim = try #require(try await self.store.claim(message.id, peeking: false))
        #expect(try await !self.store.defer(message.id, epoch: message.epoch, Deferral(pause: .seconds(300))))
        #expect(try await self.store.extend(claim))
        #expect(
            try await self.store.defer(message.id, epoch: claim.message.epoch, Deferral(pause: .seconds(1)))
        )
        self.time.advance(.seconds(1))
        #expect(try await self.scenario.takeDue().map(\.id) == [message.id])
    }

    /// Else copies of a message that waits would put it off again and again.
    @Test func aCopyCannotDeferADeferredMessageFurther() async throws {
        let (message, _) = try await self.scenario.acceptGroup(["ann"])
        #expect(try await self.store.defer(message.id, epoch: nil, Deferral(pause: .seconds(5))))
        #expect(try await !self.store.defer(message.id, epoch: nil, Deferral(pause: .seconds(60))))
        self.time.advance(.seconds(5))
        // It is due, and was published since: whoever has it now may.
        #expect(try await self.store.defer(message.id, epoch: nil, Deferral(pause: .seconds(5))))
        self.time.advance(.seconds(5))
        #expect(try await self.scenario.takeDue().map(\.id) == [message.id])
        #expect(try await self.store.defer(message.id, epoch: nil, Deferral(pause: .seconds(5))))
    }

    @Test func aDeletedMessageCannotBeDeferred() async throws {
        try await self.register(["ann"])
        let (message, _) = try await self.scenario.acceptGroup(["ann"])
        let (keys, deliveries) = try await self.scenario.fanOut(group: message)
        #expect(try await !self.store.defer(message.id, epoch: nil, Deferral()))
        #expect(try await self.scenario.record(self.outcome(keys[0])))
        #expect(try await !self.store.defer(deliveries[0].id, epoch: nil, Deferral()))
        #expect(try await self.scenario.takeDue().isEmpty)
    }
}
