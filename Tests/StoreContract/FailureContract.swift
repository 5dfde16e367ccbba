import PushModel
import Store
import Testing

/// What any store must say of work that is tried again, and of what failed, expired or was abandoned.
@Suite(.everyStore) struct FailureContract {
    private let fixture: any StoreFixture
    private let scenario: Scenario
    private var store: any ResultStore { self.scenario.store }
    private var time: TestTime { self.scenario.time }

    init() throws {
        self.fixture = try StoreFixtures.make()
        self.scenario = Scenario(self.fixture)
    }

    private func send() async throws -> Job {
        try await self.scenario.accept(
            self.scenario.campaign(to: "t", platforms: [.apns]),
            lifetime: .seconds(600)
        )
    }

    private func page(of job: Job) async throws -> BatchKey {
        try #require(try await self.scenario.fanOut(job).first)
    }

    private func delay() async throws -> QueueLoad.Delay? {
        try await self.store.standing(of: .default, mostDead: 1).queues[.deliver(.apns)]?.delay
    }

    private func failing(_ change: (inout JobQuery) -> Void = { _ in }) async throws -> [JobID] {
        var query = JobQuery(app: .default, hasFailures: true)
        change(&query)
        return try await self.store.jobs(query).items.map(\.id)
    }

    @Test func workThatIsTriedAgainSaysSinceWhenAndWhy() async throws {
        try await self.scenario.register(user: "ann", handle: "aa", tags: ["t"])
        let first = try await self.send()
        self.time.advance(.seconds(5))
        let second = try await self.send()
        let keys = [try await self.page(of: second), try await self.page(of: first)]
        // What was not tried yet waits for nothing.
        #expect(try await self.delay() == nil)
        for (key, reason) in zip(keys, ["APNs: 503", "APNs: 500"]) {
            let outcome = BatchOutcome(
                key: key,
                retries: [RetryDevice(row: 1, tries: 1, wait: .seconds(60))],
                retryReason: WaitReason(reason),
                at: self.time.wall
            )
            #expect(try await self.scenario.record(outcome))
        }
        self.time.advance(.seconds(10))
        // The oldest is told, though the other is due as early.
        #expect(try await self.delay() == QueueLoad.Delay(age: .seconds(15), reason: "APNs: 500"))
        // Of all apps together nobody is told.
        #expect(try await self.store.queues(of: nil)[.deliver(.apns)]?.delay == nil)
        self.time.advance(.seconds(60))
        #expect(try await self.scenario.takeDueBatches().count == 2)
        #expect(try await self.delay() == QueueLoad.Delay(age: .seconds(75), reason: "APNs: 500"))
        for key in keys {
            let next = BatchKey(job: key.job, pns: key.pns, page: key.page, attempt: 1)
            #expect(try await self.scenario.record(BatchOutcome(key: next, accepted: 1, at: self.time.wall)))
        }
        #expect(try await self.delay() == nil)
    }

    @Test func whatAWorkerGivesBackSaysWhy() async throws {
        try await self.scenario.register(user: "ann", handle: "aa", tags: ["t"])
        let key = try await self.page(of: self.send())
        #expect(try await self.scenario.deferBatch(key, for: .seconds(30), reason: "FCM fails: 503"))
        self.time.advance(.seconds(7))
        #expect(try await self.delay() == QueueLoad.Delay(age: .seconds(7), reason: "FCM fails: 503"))
    }

    @Test func sendsOfWhichSomethingFailedAreListedAndCounted() async throws {
        for name in ["ann", "bob"] {
            try await self.scenario.register(user: name, handle: "aa-\(name)", tags: ["t"])
        }
        var sent: [Job] = []
        for _ in 0..<6 { sent.append(try await self.send()) }
        let jobs = sent
        var keys: [BatchKey] = []
        for job in jobs.prefix(4) { keys.append(try await self.page(of: job)) }
        #expect(try await self.scenario.record(BatchOutcome(key: keys[0], accepted: 2, at: self.time.wall)))
        let failures = [DeviceFailure(row: 1, failure: .rejected, status: 400, reason: "BadTopic")]
        let outcome = BatchOutcome(key: keys[1], accepted: 1, failures: failures, at: self.time.wall)
        #expect(try await self.scenario.record(outcome))
        // What was dead and is replayed has not failed.
        try await self.scenario.deadLetter("\(self.scenario.message(of: keys[2]).id)")
        #expect(try await self.failing() == [jobs[2].id, jobs[1].id])
        let letter = try #require(try await self.letters(of: jobs[2]).first)
        #expect(try await self.letters(of: jobs[1]).isEmpty)
        _ = try await self.store.replay(deadLetter: letter.id, app: .default)
        #expect(try await self.failing() == [jobs[1].id])
        try await self.scenario.deadLetter("\(self.scenario.message(of: jobs[4].id).id)", type: "send")
        _ = try await self.store.cancel(jobs[5].id, app: .default)
        for wait in [Duration.seconds(601), Scenario.closedAfterStop] {
            self.time.advance(wait)
            try await self.scenario.expireJobs()
        }
        #expect(try await self.failing() == [4, 3, 2, 1].map { jobs[$0].id })
        #expect(try await self.failing { $0.state = .expired } == [jobs[3].id, jobs[2].id])
        #expect(try await self.failing { $0.isUnfinished = true }.isEmpty)
        #expect(try await self.failing { $0.kind = .register }.isEmpty)
        #expect(try await self.failing { $0.limit = 2 } == [jobs[4].id, jobs[3].id])
        try await self.expectEnded(expired: 2, abandoned: 1)
        self.time.advance(AppStanding.endedWithin + .seconds(1))
        try await self.expectEnded(expired: 0, abandoned: 0)
    }

    private func letters(of job: Job) async throws -> [DeadLetter] {
        var query = DeadLetterQuery(app: .default)
        query.job = job.id
        return try await self.store.deadLetters(query).items
    }

    private func expectEnded(
        expired: Int,
        abandoned: Int,
        _ sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let ended = try await self.store.standing(of: .default, mostDead: 1).ended
        #expect(ended == [.expired: expired, .abandoned: abandoned], sourceLocation: sourceLocation)
    }
}
