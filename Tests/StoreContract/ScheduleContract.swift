import PushModel
import Store
import Testing

/// What any store must do with sends that start later (rule 13).
@Suite(.everyStore) struct ScheduleContract {
    let fixture: any StoreFixture
    let scenario: Scenario
    var store: any ResultStore { self.scenario.store }
    var time: TestTime { self.fixture.time }

    init() throws {
        self.fixture = try StoreFixtures.make(StoreOptions(maximumBacklog: 3))
        self.scenario = Scenario(self.fixture)
    }

    private func new(in ahead: Duration, lifetime: Duration = .seconds(600), key: String? = nil) throws -> NewJob {
        let start = self.time.wall.advanced(by: ahead)
        return NewJob(
            app: .default,
            work: .send(try self.scenario.campaign(to: "t")),
            lifetime: lifetime,
            idempotency: key.map { .init(caller: "account:a", route: "POST /api/sends", key: $0, hash: [1]) },
            startsAt: start
        )
    }

    private func accept(in ahead: Duration, lifetime: Duration = .seconds(600)) async throws -> Job {
        let job = try await self.scenario.accept(self.new(in: ahead, lifetime: lifetime))
        return job
    }

    /// What the sweeper does: queues what has come, and takes it.
    private func start() async throws -> [JobID] {
        _ = try await self.scenario.startScheduled()
        return try await self.scenario.takeDueJobs(overdue: .seconds(1))
    }

    @Test func aScheduledJobStartsOnTime() async throws {
        let job = try await self.accept(in: .seconds(3600))
        #expect(job.state == .scheduled)
        #expect(job.due == job.startsAt)
        #expect(try await self.scenario.job(job.id) == job)
        self.time.advance(.seconds(3599))
        #expect(try await self.start().isEmpty)
        #expect(try await self.scenario.takeDue().isEmpty)
        self.time.advance(.seconds(1))
        #expect(try await self.start() == [job.id])
        #expect(try await self.scenario.job(job.id).state == .queued)
        #expect(try await self.scenario.startScheduled(limit: 10) == 0)
    }

    /// An app that has scheduled very many for one moment holds up no other's.
    @Test func appsStartTheirScheduledJobsInTurn() async throws {
        let fixture = try StoreFixtures.make()
        let scenario = Scenario(fixture)
        let start = fixture.time.wall.advanced(by: .seconds(60))
        func schedule(_ count: Int, of app: AppID) async throws -> [JobID] {
            let work = Job.Work.send(try scenario.campaign(to: "t"))
            var ids: [JobID] = []
            for _ in 0..<count {
                let job = NewJob(app: app, work: work, lifetime: .seconds(600), startsAt: start)
                ids.append(try await scenario.accept(job).id)
            }
            return ids
        }
        let many = try await schedule(20, of: AppID("many"))
        let one = try await schedule(1, of: AppID("one"))
        fixture.time.advance(.seconds(61))
        #expect(try await scenario.startScheduled(limit: 4) == 3)
        #expect(try await scenario.job(one[0], app: AppID("one")).state == .queued)
        var started = 3
        while true {
            let count = try await scenario.startScheduled(limit: 4)
            if count == 0 { break }
            started += count
        }
        #expect(started == many.count + one.count)
    }

    @Test(arguments: [Duration.seconds(-7200), .seconds(7200)])
    func scheduledJobsStartByTheWallClock(jump: Duration) async throws {
        let job = try await self.accept(in: .seconds(10_000))
        self.time.jump(jump)
        self.time.advance(.seconds(9_999) - jump)
        #expect(try await self.start().isEmpty)
        self.time.advance(.seconds(1))
        #expect(try await self.start() == [job.id])
    }

    @Test func aScheduledJobStartsAfterAReboot() async throws {
        let job = try await self.accept(in: .seconds(60))
        self.time.reboot("second")
        self.time.jump(.seconds(90))
        let again = try self.fixture.another()
        let others = Scenario(store: again, time: self.time)
        #expect(try await others.startScheduled() == 1)
        #expect(try await others.takeDueJobs(overdue: .seconds(1)) == [job.id])
    }

    @Test func aStartTimeInThePastMeansNow() async throws {
        let job = try await self.accept(in: .seconds(-5))
        #expect(job.state == .queued)
        self.time.advance(.seconds(1))
        #expect(try await self.scenario.takeDueJobs(overdue: .seconds(1)) == [job.id])
    }

    @Test func aScheduledJobReadsItsAudienceAtItsStart() async throws {
        let job = try await self.accept(in: .seconds(60))
        try await self.scenario.register(user: "late", handle: "aa", tags: ["t"])
        self.time.advance(.seconds(60))
        _ = try await self.start()
        #expect(try await self.scenario.fanOut(job).count == 1)
    }

    @Test func aScheduledJobIsCancelledAtOnce() async throws {
        let job = try await self.accept(in: .seconds(60))
        #expect(try await self.store.cancel(job.id, app: .default)?.state == .cancelled)
        self.time.advance(.seconds(61))
        #expect(try await self.start().isEmpty)
        #expect(try await self.store.cancel(job.id, app: .default)?.state == .cancelled)
    }

    @Test func aScheduledJobNeverStartedExpires() async throws {
        let job = try await self.accept(in: .seconds(60), lifetime: .seconds(30))
        self.time.advance(.seconds(90))
        _ = try await self.start()
        try await self.scenario.expireJobs(limit: 10)
        #expect(try await self.scenario.job(job.id).state == .expired)
    }

    @Test func aRepeatReturnsTheScheduledJob() async throws {
        let first = try self.new(in: .seconds(60), key: "k")
        let job = try await self.scenario.accept(first)
        let again = first.again()
        self.time.advance(.seconds(61))
        #expect(try await self.store.accept([again]).answers == [.repeated(job.id)])
    }

    @Test func scheduledJobsHaveNoMessageUntilTheyStart() async throws {
        let accepted = try await self.store.accept([
            self.new(in: .seconds(60)), self.new(in: .seconds(-1)), self.new(in: .seconds(90)),
        ])
        #expect(accepted.messages.count == 1)
        self.time.advance(.seconds(60))
        #expect(try await self.start().count == 2)
    }

    @Test func scheduledJobsHaveTheirOwnBacklog() async throws {
        var later: [JobID] = []
        for _ in 0..<3 { later.append(try await self.accept(in: .seconds(60)).id) }
        #expect(try await self.store.accept([self.new(in: .seconds(60))]).answers == [.backlogFull])
        var now: [Job] = []
        for _ in 0..<2 { now.append(try await self.scenario.accept(self.scenario.campaign(to: "t"))) }
        _ = try await self.store.cancel(later[0], app: .default)
        _ = try await self.accept(in: .seconds(60))
        self.time.advance(.seconds(61))
        // Three start: they count now, whatever the limit.
        #expect(try await self.scenario.startScheduled() == 3)
        #expect(try await self.store.accept([self.new(in: .zero)]).answers == [.backlogFull])
        for id in later.dropFirst() + now.map(\.id) { _ = try await self.store.cancel(id, app: .default) }
        _ = try await self.scenario.accept(self.scenario.campaign(to: "t"))
        _ = try await self.accept(in: .seconds(60))
    }

    @Test func aRunningJobReportsItsFanOut() async throws {
        for number in 0..<20 {
            try await self.scenario.register(user: "u\(number)", handle: "aa\(number)", tags: ["t"])
        }
        let job = try await self.scenario.accept(self.scenario.campaign(to: "t", platforms: [.apns]))
        #expect(try await self.scenario.job(job.id).progress == nil)
        var claim = try #require(try await self.scenario.claimCampaign(job))
        let through = try claim.cursor().through
        #expect(try await claim.commit(devices: 5, through: through / 4).isMore)
        let estimate = Int((5 * Double(through) / Double(through / 4)).rounded())
        #expect(
            try await self.scenario.job(job.id).progress
                == Job.Progress([.apns: Job.Progress.Service(devices: 5, estimate: estimate)])
        )
        #expect(try await claim.commit(devices: 0, through: through, isDone: true).written.isDone)
        #expect(
            try await self.scenario.job(job.id).progress
                == Job.Progress([.apns: Job.Progress.Service(devices: 5, estimate: 5)])
        )
    }
}
