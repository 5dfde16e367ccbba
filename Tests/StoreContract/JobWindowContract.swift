import PushModel
import Store
import Testing

/// What any store must do so that no more than a window of an app's register and send messages is published (rule 12).
@Suite(.everyStore) struct JobWindowContract {
    private static let window = 4

    let fixture: any StoreFixture
    let scenario: Scenario
    var store: any ResultStore { self.scenario.store }
    var time: TestTime { self.fixture.time }

    init() throws {
        self.fixture = try StoreFixtures.make(StoreOptions(window: InFlightWindow(jobMessages: Self.window)))
        self.scenario = Scenario(self.fixture)
    }

    private enum Kind { case campaign, toUser, register }

    private func jobs(_ count: Int, _ kind: Kind, app: AppID = .default, priority: Priority = .normal) throws
        -> [NewJob]
    {
        try (0..<count).map { _ in
            let work: Job.Work =
                switch kind {
                case .campaign: .send(try self.scenario.campaign(to: "t"))
                case .toUser: .send(self.scenario.send(to: .tag(Tag(user: try UserName("ann", .folded)))))
                case .register: .register(.delete(.random()))
                }
            return NewJob(app: app, priority: priority, work: work, lifetime: .seconds(3600))
        }
    }

    private func accept(_ count: Int, _ kind: Kind, app: AppID = .default, priority: Priority = .normal) async throws
        -> AcceptedJobs
    {
        try await self.store.accept(self.jobs(count, kind, app: app, priority: priority))
    }

    /// Ends the only job of a message.
    private func end(_ message: OutboxMessage) async throws {
        for job in try await self.scenario.jobs(of: message) {
            switch message.queue {
            case .register: _ = try await self.store.finishRegister(job, result: .done)
            default: _ = try await self.store.cancel(job, app: message.app)
            }
        }
    }

    @Test(arguments: [false, true]) func whatTheWindowHasNoRoomForIsDeferred(isRegister: Bool) async throws {
        let kind = isRegister ? Kind.register : .campaign
        let accepted = try await self.accept(10, kind)
        for case .accepted(let job) in accepted.answers { #expect(job.state == .queued) }
        #expect(accepted.answers.count == 10)
        #expect(accepted.messages.count == Self.window)
        #expect(accepted.deferred.count == 6)
        // Published or not: they are in the window until they are done.
        try await self.store.markPublished(Array(accepted.messages.prefix(2)))
        #expect(try await self.scenario.takeDue(overdue: .seconds(1)).isEmpty)
        // The longest due first, and no more than have gone.
        for message in accepted.messages.prefix(3) { try await self.end(message) }
        let taken = try await self.scenario.takeDue(overdue: .seconds(1))
        #expect(taken.map(\.id) == accepted.deferred.prefix(3).map(\.id))
        #expect(taken.allSatisfy { $0.epoch == OutboxMessage.firstTaking })
        #expect(try await self.scenario.takeDue(overdue: .seconds(1)).isEmpty)
        #expect(try await self.fixture.faults() == [])
    }

    @Test func whatIsNewOvertakesNoneThatWait() async throws {
        let accepted = try await self.accept(5, .campaign)
        for message in accepted.messages { try await self.end(message) }
        // One place is kept for the one that waits.
        let late = try await self.accept(Self.window, .campaign)
        #expect(late.messages.count == Self.window - 1)
        #expect(try await self.scenario.takeDue(overdue: .seconds(1)).map(\.id) == accepted.deferred.map(\.id))
        #expect(try await self.scenario.takeDue(overdue: .seconds(1)).isEmpty)
        try await self.end(late.messages[0])
        // The last that waits goes before what is new.
        #expect(try await self.accept(1, .campaign).messages.isEmpty)
        #expect(try await self.scenario.takeDue(overdue: .seconds(1)).map(\.id) == late.deferred.map(\.id))
    }

    @Test func appsQueuesAndPrioritiesHaveWindowsOfTheirOwn() async throws {
        #expect(try await self.accept(10, .campaign).deferred.count == 6)
        let other = try AppID("other")
        #expect(try await self.accept(Self.window, .campaign, app: other).messages.count == Self.window)
        #expect(try await self.accept(Self.window, .campaign, priority: .high).messages.count == Self.window)
        #expect(try await self.accept(Self.window, .register).messages.count == Self.window)
    }

    /// Whoever accepted them died before it published them.
    @Test func whatWasNotPublishedIsTakenWhateverWaits() async throws {
        let accepted = try await self.accept(10, .campaign)
        self.time.advance(.seconds(1))
        let taken = try await self.scenario.takeDue(overdue: .seconds(1))
        #expect(Set(taken.map(\.id)) == Set(accepted.messages.map(\.id)))
        // Their worker dies: they come again, and the others do not come with them.
        self.time.advance(WorkQueue.send.lease)
        #expect(Set(try await self.scenario.takeDue().map(\.id)) == Set(taken.map(\.id)))
    }

    /// What a worker defers is at the broker no more.
    @Test func aDeferredMessageLeavesTheWindowAndComesBackThroughIt() async throws {
        let accepted = try await self.accept(Self.window, .campaign)
        let pause = Deferral(pause: .seconds(60))
        #expect(try await self.store.defer(accepted.messages[0].id, epoch: nil, pause))
        // Nobody overtakes it, for it is not due.
        let next = try await self.accept(2, .campaign)
        #expect(next.messages.count == 1)
        try await self.store.markPublished(accepted.messages + next.messages)
        self.time.advance(.seconds(59))
        #expect(try await self.scenario.takeDue().isEmpty)
        for message in accepted.messages.dropFirst() { try await self.end(message) }
        self.time.advance(.seconds(1))
        let back = try await self.scenario.takeDue([.send], overdue: .seconds(1))
        #expect(Set(back.map(\.id)).isSuperset(of: [accepted.messages[0].id, next.deferred[0].id]))
    }

    @Test func sendsJoinAMessageThatWaitsForRoom() async throws {
        for _ in 0..<Self.window { _ = try await self.accept(1, .toUser) }
        let waiting = try #require(try await self.accept(1, .toUser).deferred.first)
        let joined = try await self.store.accept(self.jobs(3, .toUser), joining: waiting.id)
        #expect(joined.messages.isEmpty && joined.deferred.isEmpty)
        #expect(try await self.scenario.jobs(of: waiting).count == 4)
        // From then on the sweeper's copy may be at a worker.
        for message in try await self.takeAll() { try await self.end(message) }
        #expect(try await self.store.accept(self.jobs(1, .toUser), joining: waiting.id).messages.count == 1)
    }

    private func takeAll() async throws -> [OutboxMessage] {
        self.time.advance(.seconds(2))
        var taken: [OutboxMessage] = []
        while true {
            let next = try await self.scenario.takeDue()
            guard !next.isEmpty else { return taken }
            for message in next { try await self.end(message) }
            taken += next
        }
    }

    /// Each send of a group has more devices than a small one: none can be written with the others.
    @Test func sendsOfAGroupThatGoOnAloneKeepWithinTheWindow() async throws {
        for number in 0...SmallSend.maximumDevices {
            try await self.scenario.register(user: "ann", handle: "aa\(number)")
        }
        let message = try #require(try await self.accept(10, .toUser).messages.first)
        let claim = try #require(try await self.store.claim(message.id, peeking: false))
        let (step, _) = try await self.scenario.step(for: claim)
        let written = try await self.scenario.commit(step, of: claim).written
        #expect(written.isDone)
        // Its own message was in the window until then.
        #expect(written.ownMessages.count == Self.window - 1)
        var ended = written.ownMessages.count
        for message in written.ownMessages { try await self.end(message) }
        ended += try await self.takeAll().count
        #expect(ended == 10)
        #expect(try await self.fixture.faults() == [])
    }

    @Test func aSweepIsNotLateWhileTheWindowIsFull() async throws {
        let accepted = try await self.accept(10, .campaign)
        try await self.store.markPublished(accepted.messages)
        self.time.advance(.seconds(30))
        #expect(try await !self.store.isSweepLate(by: .seconds(10)))
        // Nobody has filled it up again.
        for message in accepted.messages.prefix(3) { try await self.end(message) }
        #expect(try await self.store.isSweepLate(by: .seconds(10)))
    }
}
