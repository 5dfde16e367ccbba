import PushModel
import Store
import Testing

@testable import StoreSQLite

/// A wall clock that jumps ends no job early, nor does it keep one from ending (rule 13).
struct ClockJumpContract {
    private let keep: TemporaryStore
    private let scenario: Scenario
    private var store: any ResultStore { self.scenario.store }
    private var time: TestTime { self.keep.time }

    private static let day = Duration.seconds(86_400)

    init() throws {
        self.keep = try TemporaryStore()
        self.scenario = Scenario(store: self.keep.store, time: self.keep.time)
    }

    private func send(lifetime: Duration = .seconds(60)) async throws -> Job {
        try await self.scenario.register(user: "ann", handle: "aa", tags: ["t"])
        return try await self.scenario.accept(self.scenario.send(to: .tag(Tag("t"))), lifetime: lifetime)
    }

    private func expire() async throws {
        _ = try await self.store.perform(.expireJobs(lease: Scenario.lease), limit: 10)
    }

    @Test func aJumpAheadEndsNothing() async throws {
        let job = try await self.send()
        let batch = try #require(try await self.scenario.plan(job).first)
        self.time.jump(Self.day)
        try await self.expire()
        #expect(try await self.scenario.job(job.id).state == .running)
        #expect(try await self.store.standing(of: [batch]) == [batch: .open])
        self.time.advance(.seconds(60))
        try await self.expire()
        #expect(try await self.scenario.job(job.id).state == .expiring)
    }

    @Test func aJumpBackKeepsNothingAlive() async throws {
        let job = try await self.send()
        let batch = try #require(try await self.scenario.plan(job).first)
        self.time.jump(.zero - Self.day)
        self.time.advance(.seconds(60))
        // Nobody has looked at the job yet, and its devices are not sent to all the same.
        #expect(try await self.store.standing(of: [batch]) == [batch: .stopping(.expired)])
        try await self.expire()
        #expect(try await self.scenario.job(job.id).state == .expiring)
    }

    @Test func aRegisterJobEndsInItsTime() async throws {
        let request = RegisterRequest.issue(candidate: .random(), handles: [Handle(stored: "aa")])
        let new = NewJob(app: .default, work: .register(request), lifetime: .seconds(60))
        guard case .accepted(let job) = try await self.store.accept(new) else { throw Unexpected("not accepted") }
        self.time.jump(Self.day)
        #expect(try await self.store.registerJob(job.id)?.id == job.id)
        self.time.jump(.zero - Self.day * 2)
        self.time.advance(.seconds(60))
        #expect(try await self.store.registerJob(job.id) == nil)
        try await self.expire()
        #expect(try await self.scenario.job(job.id).state == .expired)
    }

    @Test(arguments: [Self.day * 365, Duration.zero - Self.day * 365])
    func aRegistrationLivesAsLongAsItsAppSays(jump: Duration) async throws {
        self.time.jump(jump)
        let expires = self.store.steadyTime.advanced(by: .seconds(60))
        let id = try await self.scenario.register(user: "ann", handle: "aa", expires: expires)
        self.time.jump(.zero - jump)
        self.time.advance(.seconds(59))
        #expect(try await self.store.perform(.expireRegistrations, limit: 10) == 0)
        self.time.advance(.seconds(1))
        #expect(try await self.store.perform(.expireRegistrations, limit: 10) == 1)
        #expect(try await self.store.registration(id, app: .default)?.state == .expired)
    }

    @Test func theTimeOfAScheduledJobRunsFromItsStart() async throws {
        try await self.scenario.register(user: "ann", handle: "aa", tags: ["t"])
        let start = self.time.wall.advanced(by: .seconds(600))
        let new = NewJob(
            app: .default,
            work: .send(self.scenario.send(to: .tag(try Tag("t")))),
            lifetime: .seconds(60),
            startsAt: start
        )
        guard case .accepted(let job) = try await self.store.accept(new) else { throw Unexpected("not accepted") }
        // It starts by the wall clock, which somebody sets back: then it is later, and no shorter.
        self.time.jump(.seconds(-3600))
        self.time.advance(.seconds(4200))
        #expect(try await self.store.perform(.startScheduled(overdue: .seconds(1)), limit: 10) == 1)
        self.time.advance(.seconds(59))
        try await self.expire()
        #expect(try await self.scenario.job(job.id).state == .queued)
        self.time.advance(.seconds(1))
        try await self.expire()
        #expect(try await self.scenario.job(job.id).state == .expired)
    }

    @Test func aScheduledJobThatAJumpStartsLivesAsLong() async throws {
        let new = NewJob(
            app: .default,
            work: .send(self.scenario.send(to: .tag(try Tag("t")))),
            lifetime: .seconds(60),
            startsAt: self.time.wall.advanced(by: .seconds(600))
        )
        guard case .accepted(let job) = try await self.store.accept(new) else { throw Unexpected("not accepted") }
        self.time.jump(Self.day)
        #expect(try await self.store.perform(.startScheduled(overdue: .seconds(1)), limit: 10) == 1)
        self.time.advance(.seconds(59))
        try await self.expire()
        #expect(try await self.scenario.job(job.id).state == .queued)
        self.time.advance(.seconds(1))
        try await self.expire()
        #expect(try await self.scenario.job(job.id).state == .expired)
    }

    @Test func aJumpAheadRemovesNothing() async throws {
        let soon = self.time.wall.advanced(by: .seconds(3600))
        try await self.scenario.register(user: "ann", handle: "aa", tags: ["t"], expires: soon)
        let job = try await self.scenario.accept(self.scenario.send(to: .tag(Tag("nobody"))))
        _ = try await self.scenario.plan(job)
        #expect(try await self.scenario.job(job.id).state.isFinal)
        self.time.jump(Self.day * 400)
        #expect(try await self.store.perform(.expireRegistrations, limit: 10) == 0)
        let bite = try await self.store.remove(.jobs, olderThan: Self.day * 7, after: 0, limit: 10)
        #expect(bite.removed == 0)
        self.time.advance(.seconds(3600))
        #expect(try await self.store.perform(.expireRegistrations, limit: 10) == 1)
    }
}
