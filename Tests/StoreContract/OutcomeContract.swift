import PushModel
import Store
import Testing

/// What any store must do with the pages of campaigns and with outcomes (rules 2, 3, 13 and 14).
@Suite(.everyStore) struct OutcomeContract {
    let fixture: any StoreFixture
    let scenario: Scenario
    var store: any ResultStore { self.scenario.store }
    var time: TestTime { self.scenario.time }

    init() throws {
        self.fixture = try StoreFixtures.make()
        self.scenario = Scenario(self.fixture)
    }

    @Test func aSendWithoutTargetsIsCompletedByItsFanOut() async throws {
        let job = try await self.scenario.accept(self.scenario.campaign(to: "nobody"), waiter: "w1")
        #expect(job.state == .queued)
        let keys = try await self.scenario.fanOut(job)
        #expect(keys.isEmpty)
        let done = try await self.scenario.job(job.id)
        #expect(done.state == .completed)
        #expect(done.isWithoutTargets)
        #expect(done.finished != nil)
        #expect(done.counts.values.allSatisfy { $0.targets == 0 })
    }

    @Test func usersOfLiveRegistrationsAreReturned() async throws {
        var ids: [RegistrationID] = []
        for (user, handle) in [("ann", "aa1"), ("ann", "aa2"), ("ben", "aa3")] {
            ids.append(try await self.scenario.register(user: user, handle: handle))
        }
        let sequence = try await self.store.beginImport()
        let nobodys = ImportedRegistration(pns: .apns, handle: Handle(stored: "aa4"), user: nil, tags: [])
        _ = try await self.store.importRegistrations([nobodys], app: .default, sequence: sequence, lifetime: nil)
        #expect(try await self.store.users(ofLive: [4, 3, 2, 1, 99]).map { $0?.name } == ["ann", "ann", "ben", nil])
        _ = try await self.store.register(
            .delete(ids[1]),
            of: RegisterJob(app: .default, sequence: try await self.scenario.sequence(app: .default))
        )
        #expect(try await self.store.users(ofLive: [1, 2, 3]).map { $0?.name } == ["ann", "ben"])
    }

    @Test func outcomesCompleteAJobAndCountEachDeviceOnce() async throws {
        for number in 0..<25 {
            try await self.scenario.register(user: "u\(number)", handle: "aa\(number)", tags: ["news"])
        }
        let job = try await self.scenario.accept(self.scenario.campaign(to: "news"))
        let keys = try await self.scenario.fanOut(job, pages: 10)
        #expect(keys.count == 3)
        #expect(try await self.scenario.job(job.id).state == .running)
        #expect(try await self.scenario.job(job.id).isAnswered)
        // 25 of 32,000 are in flight: whole batches are left.
        let credit = try await self.store.credit(for: .page, app: .default, pns: .apns, priority: .normal)
        #expect(credit == Credit(devices: 31_000))
        let first = BatchOutcome(
            key: keys[0],
            accepted: 8,
            failures: [
                DeviceFailure(row: 1, failure: .unregistered, status: 410, reason: "Unregistered"),
                DeviceFailure(row: 2, failure: .rejected, status: 400, reason: "PayloadTooLarge"),
            ],
            at: self.time.wall
        )
        #expect(try await self.scenario.record(first))
        #expect(try await !self.scenario.record(first))
        #expect(try await self.scenario.record(BatchOutcome(key: keys[1], accepted: 10, at: self.time.wall)))
        #expect(try await self.scenario.job(job.id).state == .running)
        #expect(try await self.scenario.record(BatchOutcome(key: keys[2], accepted: 5, at: self.time.wall)))
        let done = try await self.scenario.job(job.id)
        #expect(done.state == .completed)
        #expect(!done.isWithoutTargets)
        #expect(done.due == nil)
        let counts = try await self.scenario.counts(job.id)
        #expect(counts.targets == 25)
        #expect(counts.accepted == 23)
        #expect(counts.failed == [.unregistered: 1, .rejected: 1])
        let page = try await self.store.deliveries(DeliveryQuery(job: job.id, app: .default))
        #expect(page.items.map(\.row) == [1, 2])
        #expect(page.items.map(\.reason) == ["Unregistered", "PayloadTooLarge"])
        #expect(page.items[0].notificationID == job.id.notificationID(row: 1))
        // Just as many as there are: nothing comes after them.
        for limit in [1, 2] {
            let piece = try await self.store.deliveries(DeliveryQuery(job: job.id, app: .default, limit: limit))
            #expect((piece.cursor == nil) == (limit == 2))
        }
    }

    @Test func aJobWithDevicesToRetryIsRetrying() async throws {
        for number in 0..<3 {
            try await self.scenario.register(user: "u\(number)", handle: "aa\(number)", tags: ["news"])
        }
        let job = try await self.scenario.accept(self.scenario.campaign(to: "news"))
        let key = try #require(try await self.scenario.fanOut(job).first)
        let retries = [
            RetryDevice(row: 2, tries: 1, wait: .seconds(5)), RetryDevice(row: 3, tries: 2, wait: .seconds(3)),
        ]
        let outcome = BatchOutcome(
            key: key,
            accepted: 1,
            retries: retries,
            retryReason: WaitReason(.service, at: .apns, "503 ServiceUnavailable"),
            at: self.time.wall
        )
        #expect(try await self.scenario.record(outcome))
        let waiting = try await self.scenario.job(job.id)
        #expect(waiting.state == .retrying)
        #expect(waiting.reason == "APNs fails: 503 ServiceUnavailable")
        #expect(waiting.cause == .service)
        #expect(waiting.due == self.time.wall.advanced(by: .seconds(3)))
        #expect(try await self.scenario.takeDueBatches().isEmpty)
        #expect(try await self.store.jobs(JobQuery(app: .default, state: .retrying)).items.map(\.id) == [job.id])
        #expect(try await self.store.jobs(JobQuery(app: .default, state: .running)).items.isEmpty)
        self.time.advance(.seconds(4))
        let due = try #require(try await self.scenario.takeDueBatches().first)
        #expect(due.key == BatchKey(job: job.id, pns: .apns, page: 0, attempt: 1))
        #expect(
            due.retries == [
                RetryDevice(row: 2, tries: 1, wait: .seconds(1)), RetryDevice(row: 3, tries: 2, wait: .zero),
            ]
        )
        #expect(try await self.scenario.takeDueBatches().isEmpty)
        #expect(try await self.scenario.job(job.id).state == .running)
        await #expect(throws: StoreError.self) {
            _ = try await self.scenario.record(BatchOutcome(key: due.key, accepted: 1, at: self.time.wall))
        }
        #expect(try await self.scenario.record(BatchOutcome(key: due.key, accepted: 2, at: self.time.wall)))
        let counts = try await self.scenario.counts(job.id)
        #expect(counts.targets == 3)
        #expect(counts.accepted == 3)
        #expect(try await self.scenario.job(job.id).state == .completed)
    }

    /// What a retry waits for counts from the moment that its message is read: its worker waits the rest.
    @Test(arguments: [0, 1, 60]) func aRetryReturnsItsRemainingWait(late: Int) async throws {
        try await self.scenario.register(user: "u", handle: "aa", tags: ["t"])
        let job = try await self.scenario.accept(self.scenario.campaign(to: "t"))
        let key = try #require(try await self.scenario.fanOut(job).first)
        let retries = [
            RetryDevice(row: 1, tries: 1, wait: .seconds(5)), RetryDevice(row: 2, tries: 1, wait: .seconds(8)),
        ]
        #expect(try await self.scenario.record(BatchOutcome(key: key, retries: retries, at: self.time.wall)))
        self.time.advance(.seconds(5 + late))
        let due = try #require(try await self.scenario.takeDueBatches().first)
        #expect(due.retries.map(\.wait) == [.zero, .seconds(max(0, 3 - late))])
    }

    @Test func onlyTheLatestClaimWritesPages() async throws {
        try await self.scenario.register(user: "u", handle: "aa", tags: ["t"])
        let job = try await self.scenario.accept(self.scenario.campaign(to: "t"))
        var old = try #require(try await self.scenario.claimCampaign(job))
        var new = try #require(try await self.scenario.claimCampaign(job))
        #expect(new.claim.message.epoch == old.claim.message.epoch + OutboxMessage.claimStep)
        #expect(Set(new.campaign.cursors.map(\.pns)) == Set(PushService.allCases))
        #expect(try await old.commit(devices: 1, through: 1, isDone: true) == .lost)
        #expect(try await !self.store.extend(old.claim))
        #expect(try await self.store.extend(new.claim))
        #expect(try await new.commit(devices: 1, through: 1, isDone: true).isMore)
        self.time.advance(OutboxMessage.grace)
        #expect(try await self.scenario.takeDueBatches().count == 1)
    }

    /// A campaign that fits one page costs one commit, and no claim before it.
    @Test func theFirstPageOfAPeekClaimsTheMessage() async throws {
        try await self.scenario.register(user: "u", handle: "aa", tags: ["t"])
        let job = try await self.scenario.accept(self.scenario.campaign(to: "t", platforms: [.apns]))
        let message = try self.scenario.message(of: job.id)
        let peek = try #require(try await self.store.claim(message.id, peeking: true))
        guard case .campaign(let campaign) = peek.work else { throw Unexpected("\(peek)") }
        var first = CampaignClaim(scenario: self.scenario, claim: peek, campaign: campaign)
        var second = first
        #expect(try await first.commit(devices: 1, through: campaign.cursors[0].through, isDone: true).written.isDone)
        #expect(try await second.commit(devices: 1, through: campaign.cursors[0].through, isDone: true) == .lost)
        #expect(try await self.scenario.record(BatchOutcome(key: first.key(), accepted: 1, at: self.time.wall)))
        #expect(try await self.scenario.job(job.id).state == .completed)
        #expect(try await self.scenario.counts(job.id).targets == 1)
    }

    @Test(arguments: [true, false]) func aStoppedSendIsFannedOutNoFurther(isCancelled: Bool) async throws {
        for number in 0..<4 { try await self.scenario.register(user: "u\(number)", handle: "aa\(number)", tags: ["t"]) }
        let job = try await self.scenario.accept(
            self.scenario.campaign(to: "t", platforms: [.apns]),
            lifetime: .seconds(60)
        )
        var claim = try #require(try await self.scenario.claimCampaign(job))
        #expect(try await claim.commit(devices: 2, through: 2).isMore)
        if isCancelled {
            _ = try await self.store.cancel(job.id, app: .default)
        } else {
            self.time.advance(.seconds(60))
            try await self.scenario.expireJobs()
        }
        // The send worker had read its next page by then.
        #expect(try await claim.commit(devices: 2, through: 4, isDone: true) == .lost)
        #expect(try await self.scenario.claimCampaign(job).map { _ in true } == nil)
        #expect(try await self.scenario.record(BatchOutcome(key: claim.key(), accepted: 2, at: self.time.wall)))
        #expect(try await self.scenario.job(job.id).state == (isCancelled ? .cancelled : .expired))
        let counts = try await self.scenario.counts(job.id)
        #expect((counts.targets, counts.accepted) == (2, 2))
    }

    /// The audience ends at the highest row that there was when the fan-out began, not when its first page was written.
    @Test func registrationsAfterTheFirstClaimAreNotInTheAudience() async throws {
        try await self.scenario.register(user: "u", handle: "aa", tags: ["t"])
        let job = try await self.scenario.accept(self.scenario.campaign(to: "t", platforms: [.apns, .fcm]))
        var claim = try #require(try await self.scenario.claimCampaign(job))
        try await self.scenario.register(user: "u", handle: "bb", tags: ["t"])
        #expect(claim.campaign.cursors.map(\.through) == [1, 1])
        #expect(try await claim.commit(devices: 1, through: 1, isDone: true).isMore)
        try await self.scenario.register(user: "u", handle: "cc", tags: ["t"])
        let again = try #require(try await self.scenario.claimCampaign(job))
        #expect(Set(again.campaign.cursors.map { "\($0)" }) == Set(claim.campaign.cursors.map { "\($0)" }))
    }

    @Test func cancellingCountsDeferredDevicesAtOnce() async throws {
        for number in 0..<6 { try await self.scenario.register(user: "u\(number)", handle: "aa\(number)", tags: ["t"]) }
        let job = try await self.scenario.accept(self.scenario.campaign(to: "t"))
        let keys = try await self.scenario.fanOut(job, pages: 2)
        for key in keys.dropFirst() { #expect(try await self.scenario.deferBatch(key, for: .seconds(60))) }
        let stopped = try #require(try await self.store.cancel(job.id, app: .default))
        #expect(stopped.state == .cancelling)
        #expect(stopped.counts[.apns]?.cancelled == 4)
        #expect(try await self.scenario.status(of: keys) == [.stopping(.cancelled), .closed, .closed])
        // A worker that wants a retry is told no: there is no next attempt.
        let outcome = BatchOutcome(
            key: keys[0],
            accepted: 1,
            retries: [RetryDevice(row: 2, tries: 1, wait: .zero)],
            at: self.time.wall
        )
        #expect(try await self.scenario.record(outcome))
        let done = try await self.scenario.job(job.id)
        #expect(done.state == .cancelled)
        let counts = try await self.scenario.counts(job.id)
        #expect(counts.targets == 6)
        #expect(counts.accepted == 1)
        #expect(counts.cancelled == 5)
        #expect(try await self.store.cancel(job.id, app: .default)?.state == .cancelled)
        #expect(try await self.store.cancel(.make(), app: .default) == nil)
    }

    @Test func unansweredBatchesAreClosedTwoLeasesAfterTheStop() async throws {
        try await self.scenario.register(user: "u", handle: "aa", tags: ["t"])
        let job = try await self.scenario.accept(self.scenario.campaign(to: "t"), lifetime: .seconds(10))
        _ = try await self.scenario.fanOut(job)
        #expect(try await self.scenario.expireJobs(limit: 10) == 0)
        self.time.advance(.seconds(11))
        #expect(try await self.scenario.expireJobs(limit: 10) == 1)
        #expect(try await self.scenario.job(job.id).state == .expiring)
        #expect(try await self.scenario.expireJobs(limit: 10) == 0)
        self.time.advance(Scenario.closedAfterStop)
        #expect(try await self.scenario.expireJobs(limit: 10) == 1)
        #expect(try await self.scenario.job(job.id).state == .expired)
        let counts = try await self.scenario.counts(job.id)
        #expect(counts.targets == 1)
        #expect(counts.expired == 1)
    }

    @Test func aDeadLetterClosesItsBatchOrJobOnce() async throws {
        for number in 0..<4 { try await self.scenario.register(user: "u\(number)", handle: "aa\(number)", tags: ["t"]) }
        let job = try await self.scenario.accept(self.scenario.campaign(to: "t"))
        let key = try #require(try await self.scenario.fanOut(job).first)
        let message = try self.scenario.message(of: key).id
        for _ in 0..<2 { try await self.scenario.deadLetter("\(message)") }
        let counts = try await self.scenario.counts(job.id)
        #expect(counts.targets == 4)
        #expect(counts.failed == [.dead: 4])
        #expect(try await self.scenario.job(job.id).state == .completed)
        #expect(try await !self.scenario.record(BatchOutcome(key: key, accepted: 4, at: self.time.wall)))
        let send = try await self.scenario.accept(self.scenario.campaign(to: "t"))
        try await self.scenario.deadLetter("\(self.scenario.message(of: send.id).id)", type: "send")
        #expect(try await self.scenario.job(send.id).state == .abandoned)
    }

    @Test func anAbandonedSendNotifiesItsWaiterOnce() async throws {
        let job = try await self.scenario.accept(self.scenario.campaign(to: "t"), waiter: "api.1")
        let claim = try #require(try await self.scenario.claimCampaign(job))
        #expect(claim.campaign.waiter == "api.1")
        let abandon = FanOutStep.abandon(reason: "no credentials")
        let ended = FanOutResult.written(FanOutWritten(isDone: true, waiter: "api.1"))
        #expect(try await self.store.commit(abandon, of: claim.claim) == ended)
        #expect(try await self.store.commit(abandon, of: claim.claim) == .lost)
        let done = try await self.scenario.job(job.id)
        #expect(done.state == .abandoned)
        #expect(done.reason == "no credentials")
        #expect(try await self.scenario.claimCampaign(job).map { _ in true } == nil)
    }

    /// A worker that has looked a batch up says where it is: a hint, which may be wrong.
    @Test func outcomesAreRecordedDespiteAWrongHint() async throws {
        for user in ["ann", "bob"] { try await self.scenario.register(user: user, handle: "aa\(user)") }
        let (message, jobs) = try await self.scenario.acceptGroup(["ann", "bob"])
        let (keys, deliveries) = try await self.scenario.fanOut(group: message)
        let found = try await self.store.status(of: keys, in: deliveries[0].id)
        #expect(found.map(\.status) == [.open, .open])
        let outcomes = zip(keys, found.reversed()).map { key, other in
            BatchOutcome(key: key, hint: other.hint, accepted: 1, at: self.time.wall)
        }
        #expect(try await self.store.record(outcomes + outcomes) == [true, true, false, false])
        for id in jobs {
            #expect(try await self.scenario.job(id).state == .completed)
            #expect(try await self.scenario.counts(id).accepted == 1)
        }
    }
}
