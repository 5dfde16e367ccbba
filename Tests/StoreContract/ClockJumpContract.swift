import PushModel
import Store
import Testing

/// A wall clock that jumps ends no job early, nor does it keep one from ending (rule 13).
@Suite(.everyStore) struct ClockJumpContract {
    private let fixture: any StoreFixture
    private let scenario: Scenario
    private var store: any ResultStore { self.scenario.store }
    private var time: TestTime { self.fixture.time }

    private static let day = Duration.seconds(86_400)

    init() throws {
        self.fixture = try StoreFixtures.make()
        self.scenario = Scenario(self.fixture)
    }

    private func send(lifetime: Duration = .seconds(60)) async throws -> Job {
        try await self.scenario.register(user: "ann", handle: "aa", tags: ["t"])
        return try await self.scenario.accept(self.scenario.campaign(to: "t"), lifetime: lifetime)
    }

    private func expire() async throws { try await self.scenario.expireJobs(limit: 10) }

    @Test func aClockJumpAheadExpiresNothing() async throws {
        let job = try await self.send()
        let batch = try #require(try await self.scenario.fanOut(job).first)
        self.time.jump(Self.day)
        try await self.expire()
        #expect(try await self.scenario.job(job.id).state == .running)
        #expect(try await self.scenario.status(of: [batch]) == [.open])
        self.time.advance(.seconds(60))
        try await self.expire()
        #expect(try await self.scenario.job(job.id).state == .expiring)
    }

    @Test func aClockJumpBackProlongsNothing() async throws {
        let job = try await self.send()
        let batch = try #require(try await self.scenario.fanOut(job).first)
        self.time.jump(.zero - Self.day)
        self.time.advance(.seconds(60))
        // Nobody has looked at the job yet, and its devices are not sent to all the same.
        #expect(try await self.scenario.status(of: [batch]) == [.stopping(.expired)])
        try await self.expire()
        #expect(try await self.scenario.job(job.id).state == .expiring)
    }

    @Test func aClockJumpDoesNotChangeARegisterJobsLifetime() async throws {
        let request = RegisterRequest.issue(candidate: .random(), handles: [Handle(stored: "aa")])
        let new = NewJob(app: .default, work: .register(request), lifetime: .seconds(60))
        let job = try await self.scenario.accept(new)
        self.time.jump(Self.day)
        let message = try self.scenario.message(of: job.id).id
        #expect(try await self.store.registerJobs(of: message).map(\.id) == [job.id])
        self.time.jump(.zero - Self.day * 2)
        self.time.advance(.seconds(60))
        #expect(try await self.store.registerJobs(of: message).isEmpty)
        try await self.expire()
        #expect(try await self.scenario.job(job.id).state == .expired)
    }

    @Test(arguments: [Self.day * 365, Duration.zero - Self.day * 365])
    func aClockJumpDoesNotChangeARegistrationsLifetime(jump: Duration) async throws {
        self.time.jump(jump)
        let id = try await self.scenario.register(user: "ann", handle: "aa", lifetime: .seconds(60))
        self.time.jump(.zero - jump)
        self.time.advance(.seconds(59))
        #expect(try await self.scenario.expireRegistrations(limit: 10) == 0)
        self.time.advance(.seconds(1))
        #expect(try await self.scenario.expireRegistrations(limit: 10) == 1)
        #expect(try await self.store.registration(id, app: .default)?.state == .expired)
    }

    @Test func theLifetimeOfAScheduledJobBeginsAtItsStart() async throws {
        try await self.scenario.register(user: "ann", handle: "aa", tags: ["t"])
        let start = self.time.wall.advanced(by: .seconds(600))
        let new = NewJob(
            app: .default,
            work: .send(try self.scenario.campaign(to: "t")),
            lifetime: .seconds(60),
            startsAt: start
        )
        let job = try await self.scenario.accept(new)
        // It starts by the wall clock, which somebody sets back: then it is later, and no shorter.
        self.time.jump(.seconds(-3600))
        self.time.advance(.seconds(4200))
        #expect(try await self.scenario.startScheduled(limit: 10) == 1)
        self.time.advance(.seconds(59))
        try await self.expire()
        #expect(try await self.scenario.job(job.id).state == .queued)
        self.time.advance(.seconds(1))
        try await self.expire()
        #expect(try await self.scenario.job(job.id).state == .expired)
    }

    @Test func aScheduledJobStartedByAJumpHasItsWholeLifetime() async throws {
        let new = NewJob(
            app: .default,
            work: .send(try self.scenario.campaign(to: "t")),
            lifetime: .seconds(60),
            startsAt: self.time.wall.advanced(by: .seconds(600))
        )
        let job = try await self.scenario.accept(new)
        self.time.jump(Self.day)
        #expect(try await self.scenario.startScheduled(limit: 10) == 1)
        self.time.advance(.seconds(59))
        try await self.expire()
        #expect(try await self.scenario.job(job.id).state == .queued)
        self.time.advance(.seconds(1))
        try await self.expire()
        #expect(try await self.scenario.job(job.id).state == .expired)
    }

    @Test func aClockJumpAheadRemovesNothing() async throws {
        try await self.scenario.register(user: "ann", handle: "aa", tags: ["t"], lifetime: .seconds(3600))
        let job = try await self.scenario.accept(self.scenario.campaign(to: "nobody"))
        _ = try await self.scenario.fanOut(job)
        #expect(try await self.scenario.job(job.id).state.isFinal)
        self.time.jump(Self.day * 400)
        #expect(try await self.scenario.expireRegistrations(limit: 10) == 0)
        let chunk = try await self.store.remove(.jobs, olderThan: Self.day * 7, after: 0, limit: 10)
        #expect(chunk.removed == 0)
        self.time.advance(.seconds(3600))
        #expect(try await self.scenario.expireRegistrations(limit: 10) == 1)
    }

    @Test func leasesDoNotJumpWithTheWallClock() async throws {
        let job = try await self.scenario.accept(self.scenario.campaign(to: "t"))
        try await self.store.markPublished([self.scenario.message(of: job.id)])
        self.time.jump(Self.day)
        #expect(try await self.scenario.takeDue().isEmpty)
        self.time.jump(.zero - Self.day * 2)
        self.time.advance(WorkQueue.send.lease)
        #expect(try await self.scenario.takeDueJobs() == [job.id])
    }
}
