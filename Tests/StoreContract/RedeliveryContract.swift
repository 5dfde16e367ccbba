import PushModel
import Store
import Testing

/// What any store must do with messages that come again and again: count them, and split them (rule 5).
@Suite(.everyStore) struct RedeliveryContract {
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

    @Test func redeliveriesAreCountedOverAllPublications() async throws {
        try await self.register(["ann", "bob"])
        let (message, _) = try await self.scenario.acceptGroup(["ann", "bob"])
        #expect(try await self.store.redelivered(message.id)?.count == 1)
        self.time.advance(.seconds(1))
        #expect(try await self.scenario.takeDue().map(\.id) == [message.id])
        let again = try #require(try await self.store.redelivered(message.id))
        #expect((again.count, again.members) == (2, 2))
        // Counting takes nothing from whoever works on it.
        let claim = try #require(try await self.store.claim(message.id, peeking: false))
        #expect(try await self.store.redelivered(message.id)?.count == 3)
        #expect(try await self.store.extend(claim))
        #expect(try await self.store.redelivered(MessageID(number: .max)) == nil)
    }

    @Test func aSuspectIsKnownUntilItIsCleared() async throws {
        let (one, other) = ([UInt8](repeating: 1, count: 16), [UInt8](repeating: 2, count: 16))
        #expect(try await !self.store.suspect(one))
        #expect(try await !self.store.suspect(other))
        #expect(try await self.store.suspect(one))
        try await self.store.clear(suspect: one)
        try await self.store.clear(suspect: one)
        #expect(try await !self.store.suspect(one))
        // One whose message never comes again.
        self.time.advance(.seconds(86_400))
        try await self.store.perform(.expireRegistrations, limit: 100)
        #expect(try await !self.store.suspect(other))
    }

    @Test func membersThatAreSplitOffInheritTheRedeliveries() async throws {
        try await self.register(["ann", "bob", "cid"])
        let (group, jobs) = try await self.scenario.acceptGroup(["ann", "bob", "cid"])
        for _ in 0..<3 { _ = try await self.store.redelivered(group.id) }
        try await self.store.split(group.id)
        let sends = try await self.scenario.takeDue([.send])
        #expect(sends.count == 3)
        var split: Set<JobID> = []
        for message in sends {
            split.formUnion(try await self.scenario.jobs(of: message))
            let counted = try #require(try await self.store.redelivered(message.id))
            #expect((counted.count, counted.members) == (4, 1))
        }
        #expect(split == Set(jobs))
    }

    @Test func batchesThatAreSplitOffGoAloneAndInheritTheRedeliveries() async throws {
        try await self.register(["ann", "bob", "cid"])
        let (group, _) = try await self.scenario.acceptGroup(["ann", "bob", "cid"])
        let (keys, deliveries) = try await self.scenario.fanOut(group: group)
        let delivery = try #require(deliveries.first)
        try await self.store.markPublished([delivery])
        #expect(try await self.scenario.record(self.outcome(keys[0])))
        for _ in 0..<2 { _ = try await self.store.redelivered(delivery.id) }
        try await self.store.split(delivery.id)
        // For the message that they came in they are closed.
        #expect(try await self.store.status(of: keys, in: delivery.id).map(\.status) == [.closed, .closed, .closed])
        #expect(try await self.scenario.status(of: keys) == [.closed, .open, .open])
        let alone = try await self.scenario.takeDue([.deliver(.apns)])
        #expect(alone.count == 2)
        for message in alone { #expect(try await self.store.redelivered(message.id)?.count == 3) }
        // A late mark of the message that is gone puts none of them off.
        try await self.store.markPublished([delivery])
        for key in keys.dropFirst() { #expect(try await self.scenario.record(self.outcome(key))) }
        for message in alone { #expect(try await self.store.batches(of: message.id).isEmpty) }
    }

    @Test func aSplitVoidsAClaim() async throws {
        try await self.register(["ann", "bob", "cid"])
        let (message, jobs) = try await self.scenario.acceptGroup(["ann", "bob", "cid"])
        let claim = try #require(try await self.store.claim(message.id, peeking: false))
        let (step, _) = try await self.scenario.step(for: claim)
        #expect(try await self.store.cancel(jobs[1], app: .default)?.state == .cancelled)
        try await self.store.split(message.id)
        #expect(try await self.scenario.commit(step, of: claim) == .lost)
        #expect(Set(try await self.scenario.takeDueJobs()) == [jobs[0], jobs[2]])
        #expect(try await self.store.claim(message.id, peeking: false) == nil)
    }
}
