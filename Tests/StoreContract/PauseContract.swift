import PushModel
import Store
import Testing

/// What any store must do with pauses: nothing of what is paused is published, and all of it ends all the same.
@Suite(.everyStore) struct PauseContract {
    let fixture: any StoreFixture
    let scenario: Scenario
    var store: any ResultStore { self.scenario.store }
    var time: TestTime { self.scenario.time }

    init() throws {
        self.fixture = try StoreFixtures.make()
        self.scenario = Scenario(self.fixture)
    }

    private func send(app: AppID = .default, lifetime: Duration = .seconds(86_400)) async throws -> Job {
        try await self.scenario.accept(
            self.scenario.campaign(to: "t"),
            app: app,
            lifetime: lifetime
        )
    }

    @Test(arguments: [true, false]) func nothingIsTakenForAPausedService(isForAll: Bool) async throws {
        for number in 0..<4 { try await self.scenario.register(user: "u\(number)", handle: "a\(number)", tags: ["t"]) }
        let other = try AppID("other")
        try await self.scenario.register(user: "bob", handle: "b", tags: ["t"], app: other)
        let job = try await self.send()
        let keys = try await self.scenario.fanOut(job, pages: 1)
        let theirs = try await self.scenario.fanOut(try await self.send(app: other))
        try await self.store.apply(.pause(.begin(.deliver(.apns), app: isForAll ? nil : .default, by: "x")))
        let credit = try await self.store.credit(for: .first, app: .default, pns: .apns, priority: .high)
        #expect(credit.devices == 0)
        let fcm = try await self.store.credit(for: .first, app: .default, pns: .fcm, priority: .high)
        #expect(fcm.devices > 0)
        // One was deferred, one is retried, one's lease has lapsed, one is at its worker.
        for key in [keys[0], theirs[0]] {
            #expect(try await self.scenario.deferBatch(key, for: .milliseconds(500)))
        }
        let retries = [RetryDevice(row: 2, tries: 1, wait: .zero)]
        #expect(try await self.scenario.record(BatchOutcome(key: keys[1], retries: retries, at: self.time.wall)))
        self.time.advance(WorkQueue.deliver(.apns).lease)
        let due = try await self.scenario.takeDueBatches().map(\.key.job)
        #expect(due.contains(job.id) == false)
        #expect(due.isEmpty == isForAll)
        let seen = try await self.scenario.job(job.id)
        #expect(seen.reason == "paused: deliver.apns")
        #expect(seen.due == nil)
        // What a worker brings still counts.
        #expect(try await self.scenario.record(BatchOutcome(key: keys[3], accepted: 1, at: self.time.wall)))
        let load = try #require(try await self.store.queues(of: .default)[.deliver(.apns)])
        #expect((load.waiting, load.open, load.deferred) == (1, 1, 1))
        #expect(try await self.store.apply(.pause(.end(.deliver(.apns), app: isForAll ? nil : .default))))
        #expect(try await self.scenario.takeDueBatches().count { $0.key.job == job.id } == 3)
        #expect(try await self.scenario.job(job.id).reason != "paused: deliver.apns")
    }

    @Test func aJobNamesTheFirstOfSeveralPausedQueues() async throws {
        let job = try await self.send()
        let services: [PushService] = [.wns, .fcm, .apns]
        var deferral = Deferral(pause: .seconds(1))
        deferral.blockedOn = Set(services)
        #expect(try await self.store.defer(self.scenario.message(of: job.id).id, epoch: nil, deferral))
        for pns in services {
            try await self.store.apply(.pause(.begin(.deliver(pns), app: .default, by: "x")))
        }
        #expect(try await self.scenario.job(job.id).reason == "paused: deliver.apns")
    }

    @Test(arguments: [WorkQueue.send, .register]) func aMessageOfAPausedQueueIsTakenWhenItIsResumed(queue: WorkQueue)
        async throws
    {
        let change = try await self.scenario.accept(
            NewJob(app: .default, work: .register(.delete(.random())), lifetime: .seconds(86_400))
        )
        let send = try await self.send()
        let (paused, free) = queue == .send ? (send, change) : (change, send)
        try await self.store.apply(.pause(.begin(queue, app: .default, by: "x")))
        // A worker that got it gives it back.
        let message = try self.scenario.message(of: paused.id)
        #expect(try await self.store.defer(message.id, epoch: nil, Deferral(reason: Pause.reason(queue))))
        // Whoever had published it marks it only now.
        try await self.store.markPublished([message])
        self.time.advance(.seconds(10))
        #expect(try await self.scenario.takeDueJobs() == [free.id])
        #expect(try await self.scenario.job(paused.id).reason == "paused: \(queue)")
        #expect(try await self.scenario.job(free.id).reason == nil)
        // Another's pause is another's.
        try await self.store.apply(.pause(.begin(queue, app: try AppID("other"), by: "x")))
        #expect(try await self.store.apply(.pause(.end(queue, app: .default))))
        #expect(try await self.scenario.takeDueJobs() == [paused.id])
        if queue == .send { #expect(try await self.store.claim(message.id, peeking: false) != nil) }
        #expect(try await self.scenario.job(paused.id).reason == nil)
    }

    @Test func aDeferralVoidsASendWorkersClaim() async throws {
        try await self.scenario.register(user: "ann", handle: "a", tags: ["t"])
        let job = try await self.send()
        var claim = try #require(try await self.scenario.claimCampaign(job))
        #expect(try await self.store.defer(claim.claim.message.id, epoch: nil, Deferral()))
        #expect(try await !self.store.extend(claim.claim))
        #expect(try await claim.commit(devices: 1) == .lost)
    }

    @Test func aGroupInAPausedQueueExpires() async throws {
        let new = try ["ann", "bob"].map { user in
            NewJob(
                app: .default,
                work: .send(self.scenario.send(to: .tag(PushModel.Tag(user: try UserName(user, .folded))))),
                lifetime: .seconds(100)
            )
        }
        let message = try #require(try await self.store.accept(new).messages.first)
        try await self.store.apply(.pause(.begin(.send, app: .default, by: "x")))
        #expect(try await self.store.defer(message.id, epoch: nil, Deferral(reason: Pause.reason(.send))))
        try await self.store.markPublished([message])
        self.time.advance(.seconds(5))
        #expect(try await self.scenario.takeDue().isEmpty)
        #expect(try await self.scenario.job(new[0].id).reason == "paused: send")
        #expect(try await self.store.queues(of: .default)[.send]?.waiting == 2)
        #expect(try await self.store.apply(.pause(.end(.send, app: .default))))
        #expect(try await self.scenario.takeDue().map(\.id) == [message.id])
        // What is paused and whose time is over ends.
        try await self.store.apply(.pause(.begin(.send, app: .default, by: "x")))
        self.time.advance(.seconds(100))
        try await self.scenario.expireJobs()
        for job in new { #expect(try await self.scenario.job(job.id).state == .expired) }
    }

    @Test(arguments: [true, false]) func pausedJobsEndByCancellingOrExpiry(isCancelled: Bool) async throws {
        for number in 0..<3 { try await self.scenario.register(user: "u\(number)", handle: "a\(number)", tags: ["t"]) }
        let job = try await self.send(lifetime: .seconds(100))
        let keys = try await self.scenario.fanOut(job, pages: 1)
        let paused = try await self.send(lifetime: .seconds(100))
        for queue in WorkQueue.allCases { try await self.store.apply(.pause(.begin(queue, app: nil, by: "x"))) }
        #expect(try await self.store.defer(self.scenario.message(of: paused.id).id, epoch: nil, Deferral()))
        #expect(try await self.scenario.deferBatch(keys[0], for: .milliseconds(500)))
        if isCancelled {
            for id in [job.id, paused.id] { _ = try await self.store.cancel(id, app: .default) }
        } else {
            self.time.advance(.seconds(101))
            try await self.scenario.expireJobs()
        }
        // What is still at the broker is deferred by the worker that gets it.
        for key in keys.dropFirst() { try await self.scenario.deferBatch(key, for: .seconds(1)) }
        for id in [job.id, paused.id] {
            #expect(try await self.scenario.job(id).state == (isCancelled ? .cancelled : .expired))
        }
        let counts = try await self.scenario.counts(job.id)
        #expect(counts.targets == 3)
        #expect(counts.accounted == 3)
        #expect(try await self.scenario.auditFaults() == [])
    }
}

/// What any store must do with the pauses themselves.
@Suite(.everyAdministration) struct PauseListContract {
    private let fixture: any AdministrationFixture
    private var store: any AppAdministration { self.fixture.administration }
    private var time: TestTime { self.fixture.time }

    init() throws { self.fixture = try StoreFixtures.makeAdministration() }

    @Test func aRepeatedPauseKeepsItsFirstAuthor() async throws {
        let shop = try AppID("shop")
        try await self.store.apply(.pause(.begin(.send, app: nil, by: "host:root")))
        try await self.store.apply(.pause(.begin(.send, app: nil, by: "host:other")))
        try await self.store.apply(.pause(.begin(.deliver(.apns), app: shop, by: "key:k")))
        let since = self.time.wall
        self.time.advance(.seconds(5))
        // As after a restart of every process.
        let pauses = try await self.fixture.anotherAdministration().pauses()
        #expect(
            Set(pauses.map { "\($0.queue) \($0.app?.name ?? "all") \($0.by)" })
                == ["send all host:root", "deliver.apns shop key:k"]
        )
        #expect(pauses.allSatisfy { $0.since == since })
        #expect(try await self.store.apply(.pause(.end(.send, app: nil))))
        #expect(try await !self.store.apply(.pause(.end(.send, app: nil))))
        #expect(try await !self.store.apply(.pause(.end(.deliver(.apns), app: .default))))
        #expect(try await self.store.pauses().count == 1)
    }
}
