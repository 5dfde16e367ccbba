import PushModel
import Store
import Testing

/// What any store must do with new jobs and their messages before anybody works on them (rules 1, 5, 12 and 15).
@Suite(.everyStore(with: .outbox)) struct AcceptanceContract {
    private static let window = 4
    private static let queues: Set<WorkQueue> = [.send, .register]

    let fixture: any OutboxFixture
    let scenario: OutboxScenario
    var store: any JobOutbox { self.scenario.accepting }
    var time: TestTime { self.fixture.time }

    init() throws {
        self.fixture = try StoreFixtures.makeOutbox(StoreOptions(window: InFlightWindow(jobMessages: Self.window)))
        self.scenario = OutboxScenario(self.fixture)
    }

    /// Register jobs have a message each, and sends to a user share one.
    private func jobs(_ count: Int, isRegister: Bool, priority: Priority = .normal) throws -> [NewJob] {
        let user = try UserName("ann", .folded)
        return (0..<count).map { _ in
            let work: Job.Work =
                isRegister
                ? .register(.delete(.random())) : .send(self.scenario.send(to: .tag(PushModel.Tag(user: user))))
            return NewJob(app: .default, priority: priority, work: work, lifetime: .seconds(3600))
        }
    }

    private func takeDue(overdue: Duration = .seconds(1), limit: Int = 100) async throws -> [OutboxMessage] {
        try await self.store.takeDue(Self.queues, overdue: overdue, limit: limit)
    }

    @Test func jobsAreNumberedInTheirOrder() async throws {
        let first = try await self.store.accept(self.jobs(500, isRegister: false))
        let second = try await self.fixture.anotherOutbox().accept(self.jobs(3, isRegister: false))
        let sequences = (first.answers + second.answers).map { answer -> Int64 in
            if case .accepted(let job) = answer { job.sequence } else { 0 }
        }
        #expect(sequences.count == 503)
        #expect(zip(sequences, sequences.dropFirst()).allSatisfy { $0 < $1 })
        #expect(first.messages.count == 1 && second.messages.count == 1)
        let listed = try await self.store.jobs(JobQuery(app: .default, limit: 4)).items.map(\.sequence)
        #expect(listed == sequences.suffix(4).reversed())
    }

    @Test func oneRequestInAGroupIsOneJob() async throws {
        let key = NewJob.Idempotency(caller: "account:a", route: "r", key: "k", hash: [1])
        let jobs = try self.jobs(2, isRegister: true).map {
            NewJob(app: .default, work: $0.work, lifetime: $0.lifetime, idempotency: key)
        }
        #expect(try await self.store.accept(jobs).answers.last == .repeated(jobs[0].id))
    }

    @Test func anIDIsOneJobs() async throws {
        let first = try #require(try self.jobs(1, isRegister: true).first)
        _ = try await self.store.accept([first])
        let others = try self.jobs(1, isRegister: true)
        let error = await #expect(throws: StoreError.self) { try await self.store.accept(others + [first]) }
        #expect(error?.code == .conflict)
        #expect(try await self.store.jobs(JobQuery(app: .default)).items.map(\.id) == [first.id])
    }

    @Test func aMessageIsDueUntilItIsMarkedAndAfterItsLease() async throws {
        let message = try #require(try await self.store.accept(self.jobs(2, isRegister: false)).messages.first)
        #expect(try await self.takeDue().isEmpty)
        try await self.store.markPublished([message])
        self.time.advance(.seconds(59))
        #expect(try await self.takeDue(overdue: .zero).isEmpty)
        self.time.advance(.seconds(2))
        let taken = try #require(try await self.takeDue().first)
        #expect((taken.id, taken.epoch) == (message.id, message.epoch + 1))
        // A mark that comes late puts nobody off.
        try await self.store.markPublished([message])
        self.time.advance(OutboxMessage.grace + .seconds(2))
        #expect(try await self.takeDue().map(\.id) == [message.id])
    }

    @Test func twoProcessesNeverTakeTheSame() async throws {
        let accepted = try await self.store.accept(self.jobs(Self.window, isRegister: true))
        self.time.advance(.seconds(2))
        let others = try (0..<3).map { _ in try self.fixture.anotherOutbox() }
        let taken = try await withThrowingTaskGroup(of: [OutboxMessage].self) { group in
            for store in others { group.addTask { try await store.takeDue(Self.queues, overdue: .zero, limit: 100) } }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(taken.map(\.id)) == Set(accepted.messages.map(\.id)))
        #expect(taken.count == accepted.messages.count)
    }

    @Test func theMostUrgentAreTakenFirst() async throws {
        var messages: [MessageID] = []
        for priority in [Priority.low, .normal, .high] {
            messages += try await self.store.accept(self.jobs(1, isRegister: true, priority: priority)).messages.map(
                \.id
            )
        }
        self.time.advance(.seconds(2))
        #expect(try await self.takeDue(limit: 2).map(\.id) == [messages[2], messages[1]])
        #expect(try await self.takeDue().map(\.id) == [messages[0]])
    }

    @Test func nothingOfAPausedQueueIsTaken() async throws {
        let change = try await self.store.accept(self.jobs(1, isRegister: true)).messages.map(\.id)
        let send = try await self.store.accept(self.jobs(1, isRegister: false)).messages.map(\.id)
        self.time.advance(.seconds(2))
        try await self.store.apply(.pause(.begin(.register, app: nil, by: "x")))
        #expect(try await self.takeDue().map(\.id) == send)
        #expect(try await self.store.apply(.pause(.end(.register, app: nil))))
        #expect(try await self.takeDue().map(\.id) == change)
    }

    @Test func whatTheWindowHasNoRoomForIsTakenAsItHas() async throws {
        let jobs = try self.jobs(10, isRegister: true)
        let accepted = try await self.store.accept(jobs)
        #expect(accepted.messages.count == Self.window && accepted.deferred.count == 6)
        try await self.store.markPublished(accepted.messages)
        #expect(try await self.takeDue().isEmpty)
        for job in jobs.prefix(3) { _ = try await self.store.finishRegister(job.id, result: .done) }
        #expect(try await self.takeDue().map(\.id) == accepted.deferred.prefix(3).map(\.id))
        #expect(try await self.takeDue().isEmpty)
        // What is new overtakes none that wait.
        #expect(try await self.store.accept(self.jobs(1, isRegister: true)).messages.isEmpty)
        // Another queue has a window of its own.
        #expect(try await self.store.accept(self.jobs(1, isRegister: false)).messages.count == 1)
    }

    @Test func sendsJoinAMessageThatIsNotPublished() async throws {
        let message = try #require(try await self.store.accept(self.jobs(2, isRegister: false)).messages.first)
        _ = try await self.fixture.anotherOutbox().accept(self.jobs(3, isRegister: false))
        #expect(try await self.store.accept(self.jobs(4, isRegister: false), joining: message.id).messages.isEmpty)
        #expect(try await self.store.redelivered(message.id)?.members == 6)
        let urgent = try self.jobs(1, isRegister: false, priority: .high)
        #expect(try await self.store.accept(urgent, joining: message.id).messages.map(\.priority) == [.high])
        try await self.store.markPublished([message])
        #expect(try await self.store.accept(self.jobs(1, isRegister: false), joining: message.id).messages.count == 1)
    }

    @Test func aDeferredMessageRestsAndKeepsItsReason() async throws {
        let job = try #require(try self.jobs(1, isRegister: true).first)
        let message = try #require(try await self.store.accept([job]).messages.first)
        let pause = Deferral(pause: .seconds(60), reason: WaitReason("slow"))
        #expect(try await self.store.defer(message.id, epoch: message.epoch, pause))
        // Of two copies the second is not needed; nor does an older claim change it.
        #expect(try await !self.store.defer(message.id, epoch: nil, Deferral()))
        #expect(try await !self.store.defer(message.id, epoch: message.epoch, Deferral()))
        let waiting = try await self.scenario.job(job.id)
        #expect(waiting.state == .retrying && waiting.reason == "slow")
        #expect(try await self.store.jobs(JobQuery(app: .default, state: .retrying)).items.map(\.id) == [job.id])
        self.time.advance(.seconds(60))
        #expect(try await self.takeDue().map(\.id) == [message.id])
        #expect(try await self.scenario.job(job.id).reason == nil)
    }

    @Test func membersThatAreSplitOffInheritTheRedeliveries() async throws {
        let message = try #require(try await self.store.accept(self.jobs(3, isRegister: false)).messages.first)
        for count in 1...2 { #expect(try await self.store.redelivered(message.id)?.count == count) }
        try await self.store.split(message.id)
        #expect(try await self.store.redelivered(message.id) == nil)
        let alone = try await self.takeDue()
        #expect(alone.count == 3)
        for message in alone {
            let counted = try #require(try await self.store.redelivered(message.id))
            #expect((counted.count, counted.members) == (3, 1))
        }
    }

    @Test func aMessageGoesWithItsLastMember() async throws {
        let jobs = try self.jobs(2, isRegister: false)
        let message = try #require(try await self.store.accept(jobs).messages.first)
        #expect(try await self.store.cancel(jobs[0].id, app: .default)?.state == .cancelled)
        #expect(try await self.store.redelivered(message.id)?.members == 1)
        #expect(try await self.store.cancel(jobs[1].id, app: .default)?.state == .cancelled)
        #expect(try await self.store.redelivered(message.id) == nil)
        let failed = try await self.store.jobs(JobQuery(app: .default, state: .cancelled)).items.map(\.id)
        #expect(failed == jobs.map(\.id).reversed())
        self.time.advance(.seconds(3600))
        #expect(try await self.takeDue().isEmpty)
    }

    @Test func listsAreKeptWithTheirJobs() async throws {
        let job = try await self.scenario.accept(.handles([(.apns, "aa"), (.fcm, "bb")]), platforms: [.fcm])
        guard case .send(let send) = job.work, case .list(let list) = send.audience else { throw Unexpected("\(job)") }
        #expect(list.count == 1)
        #expect(try await self.scenario.job(job.id) == job)
    }
}
