import PushModel
import Store
import Testing

@testable import StoreSQLite

/// What any store must do with sends that start later (rule 13).
struct ScheduleContract {
    let keep: TemporaryStore
    let scenario: Scenario
    var store: any ResultStore { self.scenario.store }
    var time: TestTime { self.keep.time }

    init() throws {
        self.keep = try TemporaryStore(maximumBacklog: 3)
        self.scenario = Scenario(store: self.keep.store, time: self.keep.time)
    }

    private func new(in ahead: Duration, lifetime: Duration = .seconds(600), key: String? = nil) throws -> NewJob {
        let start = self.time.wall.advanced(by: ahead)
        return NewJob(
            app: .default,
            work: .send(self.scenario.send(to: .tag(try Tag("t")))),
            lifetime: lifetime,
            idempotency: key.map { .init(caller: "account:a", route: "POST /api/sends", key: $0, hash: [1]) },
            startsAt: start
        )
    }

    private func accept(in ahead: Duration, lifetime: Duration = .seconds(600)) async throws -> Job {
        guard case .accepted(let job) = try await self.store.accept(self.new(in: ahead, lifetime: lifetime)) else {
            throw Unexpected("not accepted")
        }
        return job
    }

    /// What the sweeper does: queues what has come, and finds it due.
    private func start() async throws -> [JobID] {
        _ = try await self.store.perform(.startScheduled(overdue: .seconds(1)), limit: 10)
        return try await self.store.dueJobs(overdue: .seconds(1), limit: 10).map(\.id)
    }

    @Test func aScheduledJobStartsAtItsMoment() async throws {
        let job = try await self.accept(in: .seconds(3600))
        #expect(job.state == .scheduled)
        #expect(job.due == job.startsAt)
        #expect(try await self.scenario.job(job.id) == job)
        self.time.advance(.seconds(3599))
        #expect(try await self.start().isEmpty)
        #expect(try await self.store.claim(job.id, lease: Scenario.lease) == nil)
        self.time.advance(.seconds(1))
        #expect(try await self.start() == [job.id])
        #expect(try await self.scenario.job(job.id).state == .queued)
        #expect(try await self.store.perform(.startScheduled(overdue: .zero), limit: 10) == 0)
    }

    @Test(arguments: [Duration.seconds(-7200), .seconds(7200)])
    func theWallClockDecidesHoweverItIsSet(jump: Duration) async throws {
        let job = try await self.accept(in: .seconds(10_000))
        self.time.jump(jump)
        self.time.advance(.seconds(9_999) - jump)
        #expect(try await self.start().isEmpty)
        self.time.advance(.seconds(1))
        #expect(try await self.start() == [job.id])
    }

    @Test func itStartsAfterARestartOfTheMachine() async throws {
        let job = try await self.accept(in: .seconds(60))
        self.time.reboot("second")
        self.time.jump(.seconds(90))
        let again = try self.keep.another()
        #expect(try await again.perform(.startScheduled(overdue: .seconds(1)), limit: 10) == 1)
        #expect(try await again.dueJobs(overdue: .seconds(1), limit: 10).map(\.id) == [job.id])
    }

    @Test func aMomentThatIsPastMeansAtOnce() async throws {
        let job = try await self.accept(in: .seconds(-5))
        #expect(job.state == .queued)
        self.time.advance(.seconds(1))
        #expect(try await self.store.dueJobs(overdue: .seconds(1), limit: 10).map(\.id) == [job.id])
    }

    @Test func itsRegistrationsAreThoseOfItsStart() async throws {
        let job = try await self.accept(in: .seconds(60))
        try await self.scenario.register(user: "late", handle: "aa", tags: ["t"])
        self.time.advance(.seconds(60))
        _ = try await self.start()
        #expect(try await self.scenario.plan(job).count == 1)
    }

    @Test func aScheduledJobIsCancelledAtOnce() async throws {
        let job = try await self.accept(in: .seconds(60))
        #expect(try await self.store.cancel(job.id, app: .default)?.state == .cancelled)
        self.time.advance(.seconds(61))
        #expect(try await self.start().isEmpty)
        #expect(try await self.store.cancel(job.id, app: .default)?.state == .cancelled)
    }

    @Test func itExpiresWhereNothingStartedItInTime() async throws {
        let job = try await self.accept(in: .seconds(60), lifetime: .seconds(30))
        self.time.advance(.seconds(90))
        _ = try await self.start()
        _ = try await self.store.perform(.expireJobs(lease: Scenario.lease), limit: 10)
        #expect(try await self.scenario.job(job.id).state == .expired)
    }

    @Test func aRepeatIsTheScheduledJob() async throws {
        let first = try self.new(in: .seconds(60), key: "k")
        guard case .accepted(let job) = try await self.store.accept(first) else { throw Unexpected("accept") }
        let again = first.again()
        self.time.advance(.seconds(61))
        guard case .repeated(let same) = try await self.store.accept(again) else { throw Unexpected("repeat") }
        #expect(same.id == job.id)
    }

    @Test func whatStartsLaterKeepsNothingOut() async throws {
        var later: [JobID] = []
        for _ in 0..<3 { later.append(try await self.accept(in: .seconds(60)).id) }
        await #expect { try await self.accept(in: .seconds(60)) } throws: { ($0 as? StoreError)?.code == .backlogFull }
        var now: [Job] = []
        for _ in 0..<2 { now.append(try await self.scenario.accept(self.scenario.send(to: .tag(Tag("t"))))) }
        _ = try await self.store.cancel(later[0], app: .default)
        _ = try await self.accept(in: .seconds(60))
        self.time.advance(.seconds(61))
        // Three start: they count now, whatever the limit.
        #expect(try await self.store.perform(.startScheduled(overdue: .zero), limit: 10) == 3)
        await #expect { try await self.scenario.accept(self.scenario.send(to: .tag(Tag("t")))) } throws: {
            ($0 as? StoreError)?.code == .backlogFull
        }
        for id in later.dropFirst() + now.map(\.id) { _ = try await self.store.cancel(id, app: .default) }
        _ = try await self.scenario.accept(self.scenario.send(to: .tag(Tag("t"))))
        _ = try await self.accept(in: .seconds(60))
    }

    @Test func aRunningJobSaysHowFarItIsLaidOut() async throws {
        for number in 0..<20 {
            try await self.scenario.register(user: "u\(number)", handle: "aa\(number)", tags: ["t"])
        }
        let job = try await self.scenario.accept(self.scenario.send(to: .tag(Tag("t")), platforms: [.apns]))
        #expect(try await self.scenario.job(job.id).plan == nil)
        let claim = try #require(try await self.store.claim(job.id, lease: Scenario.lease))
        #expect(try await self.scenario.job(job.id).plan == Job.Plan([.apns: Job.Plan.Lane(devices: 0, estimate: nil)]))
        var lane = claim.lanes[0]
        let through = lane.through
        (lane.after, lane.nextPage) = (through / 4, 1)
        let batch = PlannedBatch(page: 0, from: 0, to: lane.after, size: 5)
        let step = PlanStep(batches: [batch], lane: lane)
        #expect(try await self.store.commit(step, of: claim, lease: Scenario.lease, grace: .zero) == .more)
        let estimate = Int((5 * Double(through) / Double(through / 4)).rounded())
        #expect(
            try await self.scenario.job(job.id).plan == Job.Plan([.apns: Job.Plan.Lane(devices: 5, estimate: estimate)])
        )
        (lane.after, lane.isDone) = (through, true)
        let last = PlanStep(batches: [], lane: lane)
        #expect(try await self.store.commit(last, of: claim, lease: Scenario.lease, grace: .zero) == .planned)
        #expect(try await self.scenario.job(job.id).plan == Job.Plan([.apns: Job.Plan.Lane(devices: 5, estimate: 5)]))
    }
}
