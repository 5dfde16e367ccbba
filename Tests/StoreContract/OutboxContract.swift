import PushModel
import Store
import Testing

/// What any store must do with the messages of its outbox: who is a member, when a message is due, and when it is gone
/// (rules 1, 2, 5 and 13).
@Suite(.everyStore) struct OutboxContract {
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

    /// Whether a message is still there; asks in a way that changes nothing.
    private func isGone(_ message: OutboxMessage) async throws -> Bool {
        switch message.queue {
        case .register: try await self.store.registerJobs(of: message.id).isEmpty
        case .send: try await self.store.claim(message.id, peeking: true) == nil
        case .deliver: try await self.store.batches(of: message.id).isEmpty
        }
    }

    // MARK: Due times

    @Test func anAcceptedMessageIsDueUntilPublishedAndAfterItsLease() async throws {
        let (message, jobs) = try await self.scenario.acceptGroup(["ann", "bob"])
        #expect(message.queue == .send)
        #expect(try await self.scenario.takeDue(overdue: .seconds(1)).isEmpty)
        try await self.store.markPublished([message])
        self.time.advance(.seconds(59))
        #expect(try await self.scenario.takeDue().isEmpty)
        self.time.advance(.seconds(1))
        let taken = try #require(try await self.scenario.takeDue().first)
        #expect(taken.id == message.id)
        #expect(taken.epoch > message.epoch)
        #expect(try await self.scenario.jobs(of: taken) == jobs)
        for id in jobs { #expect(try await self.scenario.job(id).state == .queued) }
    }

    @Test func anUnpublishedMessageIsTakenASecondLater() async throws {
        let (message, _) = try await self.scenario.acceptGroup(["ann"])
        self.time.advance(.milliseconds(999))
        #expect(try await self.scenario.takeDue(overdue: .seconds(1)).isEmpty)
        self.time.advance(.milliseconds(1))
        #expect(try await self.scenario.takeDue(overdue: .seconds(1)).map(\.id) == [message.id])
    }

    @Test func aSweepIsLateWhenAMessageStaysDue() async throws {
        let lateness = Duration.seconds(10)
        #expect(try await !self.store.isSweepLate(by: lateness))
        _ = try await self.scenario.acceptGroup(["ann"])
        self.time.advance(.milliseconds(9999))
        #expect(try await !self.store.isSweepLate(by: lateness))
        self.time.advance(.milliseconds(1))
        #expect(try await self.store.isSweepLate(by: lateness))
        let writes = try await self.fixture.writes()
        #expect(try await self.fixture.another().isSweepLate(by: lateness))
        #expect(try await self.fixture.writes() == writes)
        // Nobody may take it.
        try await self.store.apply(.pause(.begin(.send, app: .default, by: "test")))
        #expect(try await !self.store.isSweepLate(by: lateness))
        _ = try await self.store.apply(.pause(.end(.send, app: .default)))
        #expect(try await self.scenario.takeDue().count == 1)
        #expect(try await !self.store.isSweepLate(by: lateness))
    }

    @Test func aCrashAfterATakeDelaysTheMessageByTheGraceOnly() async throws {
        let (message, _) = try await self.scenario.acceptGroup(["ann"])
        self.time.advance(.seconds(1))
        let first = try #require(try await self.scenario.takeDue().first)
        #expect(try await self.scenario.takeDue().isEmpty)
        self.time.advance(OutboxMessage.grace + .seconds(1))
        let second = try #require(try await self.scenario.takeDue().first)
        #expect(second.id == message.id)
        #expect(second.epoch > first.epoch)
    }

    @Test func aDeliveryIsDueAfterTheGraceOrItsLeaseOnceItIsMarked() async throws {
        try await self.register(["ann", "bob"])
        let (unmarked, _) = try await self.scenario.acceptGroup(["ann", "bob"])
        let lost = try await self.scenario.fanOut(group: unmarked)
        let (marked, _) = try await self.scenario.acceptGroup(["ann", "bob"])
        let published = try await self.scenario.fanOut(group: marked)
        try await self.store.markPublished(published.deliveries)
        // It is in flight from its first moment on.
        #expect(try await self.scenario.takeDueBatches().isEmpty)
        self.time.advance(OutboxMessage.grace)
        #expect(Set(try await self.scenario.takeDueBatches().map(\.key)) == Set(lost.keys))
        self.time.advance(WorkQueue.deliver(.apns).lease - OutboxMessage.grace - .seconds(1))
        #expect(try await self.scenario.takeDueBatches().allSatisfy { lost.keys.contains($0.key) })
        self.time.advance(.seconds(1))
        #expect(Set(try await self.scenario.takeDueBatches().map(\.key)).isSuperset(of: published.keys))
    }

    @Test func mostUrgentMessagesAreTakenFirst() async throws {
        var ids: [JobID] = []
        for priority in [Priority.low, .normal, .high] {
            ids.append(try await self.scenario.accept(self.scenario.campaign(to: "t"), priority: priority).id)
            self.time.advance(.seconds(1))
        }
        #expect(try await self.scenario.takeDueJobs(limit: 2) == [ids[2], ids[1]])
        #expect(try await self.scenario.takeDueJobs() == [ids[0]])
    }

    @Test func onlyTheRequestedQueuesAreTaken() async throws {
        try await self.register(["ann"])
        let send = try await self.scenario.accept(self.scenario.campaign(to: "t"))
        _ = try await self.scenario.fanOut(send)
        let waiting = try await self.scenario.accept(self.scenario.campaign(to: "t"))
        let change = try await self.scenario.accept(
            NewJob(app: .default, work: .register(.delete(.random())), lifetime: .seconds(86_400))
        )
        self.time.advance(WorkQueue.deliver(.apns).lease)
        #expect(try await self.scenario.takeDue([.deliver(.fcm)]).isEmpty)
        #expect(try await self.scenario.takeDue([.register]).map(\.queue) == [.register])
        let rest = try await self.scenario.takeDue()
        #expect(Set(rest.map(\.queue)) == [.send, .deliver(.apns)])
        #expect(try self.scenario.message(of: waiting.id).queue == .send)
        #expect(try self.scenario.message(of: change.id).queue == .register)
    }

    /// An idle store is not written to every second.
    @Test func aTakeWithoutDueMessagesWritesNothing() async throws {
        try await self.register(["ann", "bob"])
        let (message, _) = try await self.scenario.acceptGroup(["ann", "bob"])
        let (_, deliveries) = try await self.scenario.fanOut(group: message)
        try await self.store.markPublished(deliveries)
        let writes = try await self.fixture.writes()
        for _ in 0..<20 { #expect(try await self.scenario.takeDue().isEmpty) }
        #expect(try await self.fixture.writes() == writes)
        // What was not taken still has its epoch: its worker can give it back under that.
        for delivery in deliveries {
            #expect(try await self.store.defer(delivery.id, epoch: delivery.epoch, Deferral()))
        }
    }

    // MARK: Members

    /// Two processes accept at the same time: their jobs have numbers in between each other's.
    @Test func aMessageContainsOnlyItsOwnJobs() async throws {
        let others = Scenario(store: try self.fixture.another(), time: self.time)
        var messages: [MessageID: Set<JobID>] = [:]
        try await withThrowingTaskGroup(of: (MessageID, Set<JobID>).self) { group in
            for round in 0..<20 {
                for scenario in [self.scenario, others] {
                    group.addTask {
                        let users = (0...(round % 7)).map { "u\(round)-\($0)" }
                        let (message, jobs) = try await scenario.acceptGroup(users)
                        return (message.id, Set(jobs))
                    }
                }
            }
            for try await (message, jobs) in group { messages[message] = jobs }
        }
        #expect(messages.count == 40)
        for (message, jobs) in messages {
            let claim = try #require(try await self.store.claim(message, peeking: true))
            #expect(Set(try await self.scenario.sends(of: claim).map(\.id)) == jobs)
        }
    }

    @Test func aDeliveryContainsOnlyItsOwnBatches() async throws {
        let users = (0..<6).map { "u\($0)" }
        try await self.register(users)
        let others = Scenario(store: try self.fixture.another(), time: self.time)
        var deliveries: [MessageID: Set<BatchKey>] = [:]
        try await withThrowingTaskGroup(of: (MessageID, Set<BatchKey>).self) { group in
            for _ in 0..<10 {
                for scenario in [self.scenario, others] {
                    group.addTask {
                        let (keys, sent) = try await scenario.fanOut(group: scenario.acceptGroup(users).message)
                        guard let message = sent.first, sent.count == 1 else { throw Unexpected("\(sent)") }
                        return (message.id, Set(keys))
                    }
                }
            }
            for try await (message, keys) in group { deliveries[message] = keys }
        }
        #expect(deliveries.count == 20)
        for (message, keys) in deliveries {
            #expect(Set(try await self.store.batches(of: message).map(\.key)) == keys)
            let status = try await self.store.status(of: Array(keys), in: message)
            #expect(status.allSatisfy { $0.status == .open })
        }
    }

    @Test func messageNumbersAreNeverReused() async throws {
        try await self.register(["ann"])
        var seen: Set<MessageID> = []
        for _ in 0..<5 {
            let (message, _) = try await self.scenario.acceptGroup(["ann"])
            let (keys, deliveries) = try await self.scenario.fanOut(group: message)
            #expect(try await self.scenario.record(self.outcome(keys[0])))
            // The outbox is empty now; a store that took the highest number and one would begin anew.
            for id in [message.id] + deliveries.map(\.id) { #expect(seen.insert(id).inserted) }
        }
    }

    // MARK: The end of a message

    enum End: CaseIterable { case done, cancelled, split }

    @Test(arguments: End.allCases) func aSendMessageIsDeletedWithItsLastMember(end: End) async throws {
        try await self.register(["ann", "bob"])
        let (message, jobs) = try await self.scenario.acceptGroup(["ann", "bob"])
        let claim = try #require(try await self.store.claim(message.id, peeking: false))
        var (step, _) = try await self.scenario.step(for: claim)
        step.sends.removeLast()
        let first = try await self.scenario.commit(step, of: claim).written
        #expect(!first.isDone)
        #expect(try await !self.isGone(message))
        switch end {
        case .done:
            let (rest, _) = try await self.scenario.step(for: claim)
            #expect(try await self.scenario.commit(rest, of: claim).written.isDone)
        case .cancelled: #expect(try await self.store.cancel(jobs[1], app: .default)?.state == .cancelled)
        case .split: try await self.store.split(message.id)
        }
        let isGone = try await self.isGone(message)
        // A message of one that is split may stay what it is.
        if end != .split { #expect(isGone) }
        self.time.advance(.seconds(61))
        #expect(try await self.scenario.takeDueJobs() == (end == .split ? [jobs[1]] : []))
    }

    @Test(arguments: [End.done, .cancelled]) func aDeliveryIsDeletedWithItsLastMember(end: End) async throws {
        try await self.register(["ann", "bob"])
        let (message, jobs) = try await self.scenario.acceptGroup(["ann", "bob"])
        let (keys, deliveries) = try await self.scenario.fanOut(group: message)
        let delivery = try #require(deliveries.first)
        #expect(try await self.scenario.record(self.outcome(keys[0])))
        #expect(try await self.store.batches(of: delivery.id).map(\.key) == [keys[1]])
        #expect(try await self.store.redelivered(delivery.id)?.members == 1)
        if end == .cancelled {
            #expect(try await self.store.defer(delivery.id, epoch: nil, Deferral(pause: .seconds(300))))
            #expect(try await self.store.cancel(jobs[1], app: .default)?.state == .cancelled)
        } else {
            #expect(try await self.scenario.record(self.outcome(keys[1])))
        }
        #expect(try await self.isGone(delivery))
        #expect(try await self.store.redelivered(delivery.id) == nil)
        self.time.advance(.seconds(3600))
        #expect(try await self.scenario.takeDue().isEmpty)
    }

    @Test func cancellingClosesMembersThatAreNotInProgress() async throws {
        try await self.register(["ann", "bob", "cid"])
        // One is ready, one deferred.
        let (ready, first) = try await self.scenario.acceptGroup(["ann", "bob"])
        let (deferred, second) = try await self.scenario.acceptGroup(["ann", "cid"])
        #expect(try await self.store.defer(deferred.id, epoch: nil, Deferral(pause: .seconds(60))))
        for (message, jobs) in [(ready, first), (deferred, second)] {
            #expect(try await self.store.cancel(jobs[0], app: .default)?.state == .cancelled)
            #expect(try await self.scenario.jobs(of: message) == [jobs[1]])
            #expect(try await self.store.redelivered(message.id)?.members == 1)
            #expect(try await self.store.cancel(jobs[1], app: .default)?.state == .cancelled)
            #expect(try await self.isGone(message))
        }
        #expect(try await self.scenario.auditFaults() == [])
    }

    /// It is at no worker any more: nobody else would count its devices.
    @Test func deferringAMessageClosesBatchesOfStoppingJobs() async throws {
        try await self.register(["ann", "bob"])
        let (message, jobs) = try await self.scenario.acceptGroup(["ann", "bob"])
        let (keys, deliveries) = try await self.scenario.fanOut(group: message)
        #expect(try await self.store.cancel(jobs[0], app: .default)?.state == .cancelling)
        #expect(try await self.scenario.status(of: keys) == [.stopping(.cancelled), .open])
        #expect(try await self.store.defer(deliveries[0].id, epoch: nil, Deferral(pause: .seconds(1))))
        #expect(try await self.scenario.job(jobs[0]).state == .cancelled)
        #expect(try await self.scenario.counts(jobs[0]).cancelled == 1)
        #expect(try await self.scenario.status(of: keys) == [.closed, .open])
        self.time.advance(.seconds(1))
        #expect(try await self.scenario.takeDueBatches().map(\.key) == [keys[1]])
        #expect(try await self.store.cancel(jobs[1], app: .default)?.state == .cancelling)
        _ = try await self.store.defer(deliveries[0].id, epoch: nil, Deferral(pause: .seconds(1)))
        #expect(try await self.isGone(deliveries[0]))
        #expect(try await self.scenario.auditFaults() == [])
    }
}
