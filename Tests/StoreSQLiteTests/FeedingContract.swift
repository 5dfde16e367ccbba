import PushModel
import Store
import Testing

@testable import StoreSQLite

/// What any store must do so that no app's traffic stands in another's way (rule 12).
struct FeedingContract {
    let keep: TemporaryStore
    let scenario: Scenario
    var store: any ResultStore { self.scenario.store }
    var time: TestTime { self.keep.time }

    init() throws {
        self.keep = try TemporaryStore(window: FeedWindow(devices: 4000, batches: 4))
        self.scenario = Scenario(store: self.keep.store, time: self.keep.time)
    }

    private func accept(app: AppID = .default, priority: Priority = .normal) async throws -> Job {
        try await self.scenario.accept(self.scenario.send(to: .tag(Tag("t"))), app: app, priority: priority)
    }

    private func claim(_ job: Job) async throws -> PlannerClaim {
        try #require(try await self.store.claim(job.id, lease: Scenario.lease))
    }

    /// Writes a page of `size` devices that the store needs not have.
    private func feed(_ size: Int, _ claim: PlannerClaim, page: Int = 0) async throws -> PlanResult {
        var lane = try #require(claim.lanes.first { $0.pns == .apns })
        lane.nextPage = page + 1
        return try await self.store.commit(
            PlanStep(batches: [PlannedBatch(page: page, from: 0, to: 1, size: size)], lane: lane),
            of: claim,
            lease: Scenario.lease,
            grace: .seconds(2)
        )
    }

    private func key(_ claim: PlannerClaim, page: Int = 0) -> BatchKey {
        BatchKey(job: claim.job.id, pns: .apns, page: page, attempt: 0)
    }

    /// Fills the window of an app.
    private func fill(app: AppID = .default, batches: Int = 5) async throws -> PlannerClaim {
        let claim = try await self.claim(try await self.accept(app: app))
        for page in 0..<batches { _ = try await self.feed(1, claim, page: page) }
        try await self.store.markPublished(
            batches: (0..<batches).map { self.key(claim, page: $0) },
            lease: Scenario.batchLease,
            isRepeat: false
        )
        return claim
    }

    @Test func aJobThatWasGivenBackIsDueWhenThereIsRoom() async throws {
        let full = try await self.fill()
        let job = try await self.accept()
        let claim = try await self.claim(job)
        #expect(try await self.store.release(claim, waitingFor: [.apns], pause: .zero))
        self.time.advance(.seconds(300))
        #expect(try await self.store.dueJobs(overdue: .zero, limit: 10).map(\.id) == [full.job.id])
        for page in 0..<5 {
            _ = try await self.store.record(
                BatchOutcome(key: self.key(full, page: page), accepted: 1, at: self.time.wall)
            )
        }
        let due = try await self.store.dueJobs(overdue: .zero, limit: 10)
        #expect(Set(due.map(\.id)) == [full.job.id, job.id])
        let again = try await self.claim(job)
        #expect(again.epoch == claim.epoch + 1)
        #expect(again.claims == 1)
    }

    @Test func aJobThatWaitsForNothingRestsAsLongAsItWasSaid() async throws {
        let job = try await self.accept()
        let claim = try await self.claim(job)
        #expect(try await self.store.release(claim, waitingFor: [], pause: .seconds(3)))
        self.time.advance(.seconds(2))
        #expect(try await self.store.dueJobs(overdue: .zero, limit: 10).isEmpty)
        self.time.advance(.seconds(1))
        #expect(try await self.store.dueJobs(overdue: .zero, limit: 10).map(\.id) == [job.id])
    }

    @Test func onlyTheLatestClaimGivesAJobBack() async throws {
        let job = try await self.accept()
        let old = try await self.claim(job)
        let new = try await self.claim(job)
        #expect(new.claims == 2)
        #expect(try await !self.store.release(old, waitingFor: [.apns], pause: .zero))
        #expect(try await self.store.dueJobs(overdue: .zero, limit: 10).isEmpty)
        #expect(try await self.store.extend(new, lease: Scenario.lease))
    }

    @Test func aMessageThatComesLateDoesNotPutAJobToSleep() async throws {
        let job = try await self.accept()
        self.time.advance(.seconds(61))
        let due = try await self.store.dueJobs(overdue: .zero, limit: 10)
        // A planner takes it and gives it back before the sweeper says that it has published it.
        let claim = try await self.claim(job)
        #expect(try await self.store.release(claim, waitingFor: [.apns], pause: .zero))
        try await self.store.markPublished(due: due, lease: .seconds(60))
        try await self.store.markPublished(jobs: [job.id], lease: .seconds(60))
        #expect(try await self.store.dueJobs(overdue: .zero, limit: 10).map(\.id) == [job.id])
    }

    @Test func manyJobsOfAFullAppHideNobody() async throws {
        _ = try await self.fill()
        for _ in 0..<50 {
            let claim = try await self.claim(try await self.accept())
            #expect(try await self.store.release(claim, waitingFor: [.apns], pause: .zero))
        }
        let other = try await self.accept(app: try AppID("other"))
        self.time.advance(.seconds(2))
        #expect(try await self.store.dueJobs(overdue: .seconds(1), limit: 5).map(\.id) == [other.id])
    }

    @Test func ofEachAppWithMuchThatIsDueSomethingComes() async throws {
        for _ in 0..<20 { _ = try await self.accept() }
        let other = try await self.accept(app: try AppID("other"))
        self.time.advance(.seconds(2))
        let due = try await self.store.dueJobs(overdue: .seconds(1), limit: 4)
        #expect(due.count == 3)
        #expect(due.contains { $0.id == other.id })
    }

    @Test func dueBatchesComeAsTheirWindowsHaveRoom() async throws {
        // Retries may fill the window once more: 8 batches.
        let sick = try await self.claim(try await self.accept())
        for page in 0..<20 { _ = try await self.feed(1, sick, page: page) }
        let urgent = try await self.claim(try await self.accept(priority: .high))
        _ = try await self.feed(1, urgent)
        let other = try await self.claim(try await self.accept(app: try AppID("other")))
        _ = try await self.feed(1, other)
        self.time.advance(.seconds(2))
        let due = try await self.store.dueBatches(limit: 30)
        #expect(due.first?.key.job == urgent.job.id)
        #expect(due.contains { $0.key.job == other.job.id })
        try await self.store.markPublished(
            batches: due.filter { $0.key.job == sick.job.id }.map(\.key).prefix(8).map { $0 },
            lease: Scenario.batchLease,
            isRepeat: true
        )
        let rest = try await self.store.dueBatches(limit: 30)
        #expect(Set(rest.map(\.key.job)) == [urgent.job.id, other.job.id])
    }

    @Test func theFirstPagesOfSendsPassACampaign() async throws {
        _ = try await self.fill(batches: 4)
        func room(_ kind: FeedKind, _ priority: Priority = .normal) async throws -> Int {
            try await self.store.room(for: kind, app: .default, pns: .apns, priority: priority).devices
        }
        #expect(try await room(.page) == 0)
        #expect(try await room(.first) == 1000)
        #expect(try await room(.retry) > 0)
        #expect(try await room(.page, .high) == 4000)
        #expect(try await self.store.room(for: .page, app: .default, pns: .fcm, priority: .normal).devices == 4000)
    }

    // MARK: Rate limits

    private func limit(_ rate: Int?) async throws {
        let apns = AppSpec.APNs(keyFile: "k", keyID: "k", teamID: "t", topic: "t", devicesPerSecond: rate)
        _ = try await self.store.apply(AppSpec(apns: apns), to: .default)
    }

    private func room(_ priority: Priority = .normal) async throws -> FeedRoom {
        try await self.store.room(for: .page, app: .default, pns: .apns, priority: priority)
    }

    @Test func aRateLimitIsKeptOverPlannersAndRestarts() async throws {
        try await self.limit(1000)
        self.time.advance(.seconds(10))
        #expect(try await self.room().devices == 200)
        let first = try await self.claim(try await self.accept())
        let second = try await self.claim(try await self.accept())
        #expect(try await self.feed(200, first, page: 1) == .more)
        // Both had seen the room.
        #expect(try await self.feed(200, second, page: 1) == .noRoom)
        let wait = try #require(try await self.room().wait)
        #expect(wait == .milliseconds(100))
        // The planner's process dies, another begins: the store remembers.
        let other = try self.keep.another()
        #expect(try await other.room(for: .page, app: .default, pns: .apns, priority: .normal).devices == 0)
        self.time.advance(wait)
        #expect(try await self.room().devices == 100)
        #expect(try await self.feed(100, second, page: 1) == .more)
        try await self.limit(nil)
        #expect(try await self.room().devices == 4000)
    }

    /// A campaign's planner takes all that is free as soon as it is worth a step: who has only begun would find nothing for minutes.
    @Test func theFirstPagesOfSendsGoAheadOfARate() async throws {
        func first() async throws -> FeedRoom {
            try await self.store.room(for: .first, app: .default, pns: .apns, priority: .normal)
        }
        try await self.limit(1000)
        self.time.advance(.seconds(10))
        #expect(try await first().devices == 200)
        #expect(try await self.feed(200, try await self.claim(try await self.accept()), page: 1) == .more)
        #expect(try await self.room().devices == 0)
        #expect(try await first().devices == 200)
        #expect(try await self.feed(2, try await self.claim(try await self.accept())) == .more)
        #expect(try await first().devices == 198)
        // What they take the others wait for.
        #expect(try await self.room().wait == .milliseconds(102))
        // No more than 200 ms' worth.
        let greedy = try await self.claim(try await self.accept())
        #expect(try await self.feed(199, greedy) == .noRoom)
        #expect(try await self.feed(198, greedy) == .more)
        #expect(try await first().devices == 0)
        #expect(try await first().wait == .milliseconds(1))
    }

    @Test func whoHasBegunAtAnotherServiceAloneIsNotBehindACampaign() async throws {
        try await self.limit(1000)
        self.time.advance(.seconds(10))
        #expect(try await self.feed(200, try await self.claim(try await self.accept()), page: 1) == .more)
        let job = try await self.accept()
        let claim = try await self.claim(job)
        var lane = try #require(claim.lanes.first { $0.pns == .fcm })
        lane.nextPage = 1
        lane.isDone = true
        let step = PlanStep(batches: [PlannedBatch(page: 0, from: 0, to: 1, size: 1)], lane: lane)
        _ = try await self.store.commit(step, of: claim, lease: Scenario.lease, grace: .seconds(2))
        let lanes = [lane] + claim.lanes.filter { $0.pns != .fcm }
        let begun = PlannerClaim(
            job: claim.job,
            request: claim.request,
            epoch: claim.epoch,
            lanes: lanes,
            waiter: claim.waiter,
            claims: claim.claims,
            memory: claim.memory
        )
        #expect(try await self.store.release(begun, waitingFor: [.apns], pause: .zero))
        #expect(try await self.room().devices == 0)
        #expect(try await self.store.dueJobs(overdue: .seconds(60), limit: 10).map(\.id) == [job.id])
    }

    @Test func urgentDevicesDoNotWaitForARate() async throws {
        try await self.limit(10)
        let claim = try await self.claim(try await self.accept())
        self.time.advance(.seconds(1))
        #expect(try await self.feed(2, claim) == .more)
        #expect(try await self.room().devices == 0)
        #expect(try await self.room(.high).devices == 2)
    }

    @Test func retriesCountForTheRate() async throws {
        try await self.limit(1000)
        // What was not used before the limit was set does not count.
        #expect(try await self.room().devices == 0)
        self.time.advance(.seconds(1))
        let claim = try await self.fill(batches: 1)
        self.time.advance(.seconds(1))
        #expect(try await self.room().devices == 200)
        try await self.store.markPublished(batches: [self.key(claim)], lease: .seconds(1), isRepeat: true)
        #expect(try await self.room().devices == 199)
    }

    /// Carries all of a batch of `size` to the next attempt, which is due then.
    private func carry(_ size: Int) async throws -> BatchKey {
        let claim = try await self.claim(try await self.accept())
        #expect(try await self.feed(size, claim) == .more)
        try await self.store.markPublished(batches: [self.key(claim)], lease: .seconds(60), isRepeat: false)
        let devices = (1...size).map { CarriedDevice(row: Int64($0), tries: 1, wait: .zero) }
        let outcome = BatchOutcome(key: self.key(claim), carried: devices, at: self.time.wall)
        #expect(try await self.store.record(outcome))
        return BatchKey(job: claim.job.id, pns: .apns, page: 0, attempt: 1)
    }

    @Test func aRetryThatIsOverBeforeItIsMarkedCountsForTheRate() async throws {
        try await self.limit(1000)
        self.time.advance(.seconds(1))
        let retry = try await self.carry(50)
        self.time.advance(.seconds(1))
        // The worker is faster than the sweeper's word that it has published the message.
        #expect(try await self.store.record(BatchOutcome(key: retry, accepted: 50, at: self.time.wall)))
        try await self.store.markPublished(batches: [retry], lease: .seconds(60), isRepeat: true)
        #expect(try await self.room().devices == 150)
        try await self.store.markPublished(batches: [retry], lease: .seconds(60), isRepeat: false)
        #expect(try await self.room().devices == 150)
    }

    @Test func whatWasNotSentToDoesNotCountForTheRateAgain() async throws {
        try await self.limit(1000)
        self.time.advance(.seconds(1))
        let claim = try await self.claim(try await self.accept())
        #expect(try await self.feed(50, claim) == .more)
        let key = self.key(claim)
        self.time.advance(.seconds(3))
        // Its planner died before it could publish.
        try await self.store.markPublished(batches: [key], lease: .seconds(60), isRepeat: true)
        #expect(try await self.room().devices == 200)
        // A worker gives it back.
        #expect(try await self.store.park(key, for: .seconds(1), reason: "slow"))
        self.time.advance(.seconds(1))
        try await self.store.markPublished(batches: [key], lease: .seconds(60), isRepeat: true)
        #expect(try await self.room().devices == 200)
    }

    @Test func retriesDoNotWaitForACampaignThatUsesUpTheRate() async throws {
        try await self.limit(1000)
        self.time.advance(.seconds(1))
        let retry = try await self.carry(50)
        let campaign = try await self.claim(try await self.accept())
        for page in 0..<30 {
            self.time.advance(.milliseconds(100))
            let room = try await self.room().devices
            if room > 0 { #expect(try await self.feed(room, campaign, page: page) == .more) }
            guard let due = try await self.store.dueBatches(limit: 5).first(where: { $0.key == retry }) else {
                continue
            }
            return try await self.store.markPublished(batches: [due.key], lease: .seconds(60), isRepeat: true)
        }
        Issue.record("the retry was never due")
    }

    // MARK: Given back

    @Test func aBatchIsGivenBackOnlyWhereItIsKnownToBeAtTheBroker() async throws {
        let claim = try await self.claim(try await self.accept())
        _ = try await self.feed(5, claim)
        let key = self.key(claim)
        // Its planner has published it, and not said so yet: that word would put it to sleep for the batch's lease.
        #expect(try await !self.store.park(key, for: .seconds(5), reason: "slow"))
        try await self.store.markPublished(batches: [key], lease: Scenario.batchLease, isRepeat: false)
        #expect(try await self.store.park(key, for: .seconds(5), reason: "slow"))
        self.time.advance(.seconds(5))
        #expect(try await self.store.dueBatches(limit: 5).map(\.key) == [key])
        #expect(try await !self.store.park(key, for: .seconds(5), reason: "slow"))
        try await self.store.markPublished(batches: [key], lease: Scenario.batchLease, isRepeat: true)
        #expect(try await self.store.park(key, for: .seconds(5), reason: "slow"))
        // What is over is nobody's.
        #expect(try await self.store.record(BatchOutcome(key: key, accepted: 5, at: self.time.wall)))
        #expect(try await self.store.park(key, for: .seconds(5), reason: "slow"))
    }

    /// Else copies of batches that rest would keep a worker's window from what comes behind them.
    @Test func aCopyOfABatchThatRestsIsDone() async throws {
        let claim = try await self.claim(try await self.accept())
        _ = try await self.feed(5, claim)
        let key = self.key(claim)
        try await self.store.markPublished(batches: [key], lease: Scenario.batchLease, isRepeat: false)
        #expect(try await self.store.park(key, for: .seconds(5), reason: "slow"))
        #expect(try await self.store.park(key, for: .seconds(60), reason: "slow"))
        // A second sweeper that says so late does not put it to sleep: its own copy is done too, perhaps.
        try await self.store.markPublished(batches: [key], lease: Scenario.batchLease, isRepeat: true)
        #expect(try await self.store.dueBatches(limit: 5).isEmpty)
        self.time.advance(.seconds(5))
        #expect(try await self.store.dueBatches(limit: 5).map(\.key) == [key])
        #expect(try await !self.store.park(key, for: .seconds(5), reason: "slow"))
        // Due for long: it is paused, or there is no room for it.
        self.time.advance(.seconds(20))
        #expect(try await self.store.park(key, for: .seconds(5), reason: "slow"))
        try await self.store.markPublished(batches: [key], lease: Scenario.batchLease, isRepeat: true)
        self.time.advance(.seconds(20))
        #expect(try await self.store.dueBatches(limit: 5).map(\.key) == [key])
    }

    @Test func aBatchOfACancelledJobThatIsGivenBackIsCounted() async throws {
        let claim = try await self.claim(try await self.accept())
        _ = try await self.feed(5, claim)
        let key = self.key(claim)
        try await self.store.markPublished(batches: [key], lease: Scenario.batchLease, isRepeat: false)
        #expect(try await self.store.cancel(claim.job.id, app: .default)?.state == .cancelling)
        #expect(try await self.store.park(key, for: .seconds(5), reason: "slow"))
        let job = try await self.scenario.job(claim.job.id)
        #expect(job.state == .cancelled)
        #expect(job.tallies[.apns]?.cancelled == 5)
    }
}
