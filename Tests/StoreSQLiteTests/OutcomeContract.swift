import Foundation
import GRDB
import PushModel
import Store
import StoreKit
import Testing

@testable import StoreSQLite

/// What any store must do with plans and outcomes (rules 2, 3, 13 and 14).
struct OutcomeContract {
    let keep: TemporaryStore
    let scenario: Scenario
    var store: any ResultStore { self.scenario.store }
    var time: TestTime { self.scenario.time }

    init() throws {
        self.keep = try TemporaryStore()
        self.scenario = Scenario(store: self.keep.store, time: self.keep.time)
    }

    @Test func sendWithoutTargetsIsCompletedByItsPlan() async throws {
        let job = try await self.scenario.accept(self.scenario.send(to: .tag(Tag("nobody"))), waiter: "w1")
        #expect(job.state == .queued)
        let keys = try await self.scenario.plan(job)
        #expect(keys.isEmpty)
        let done = try await self.scenario.job(job.id)
        #expect(done.state == .completed)
        #expect(done.hubState == .noTargetFound)
        #expect(done.finished != nil)
        #expect(done.tallies.values.allSatisfy { $0.targets == 0 })
    }

    @Test func ofLiveRegistrationsIsToldWhoseTheyAre() async throws {
        var ids: [RegistrationID] = []
        for (user, handle) in [("ann", "aa1"), ("ann", "aa2"), ("ben", "aa3")] {
            ids.append(try await self.scenario.register(user: user, handle: handle))
        }
        let sequence = try await self.store.beginImport()
        let nobodys = ImportedRegistration(pns: .apns, handle: Handle(stored: "aa4"), user: nil, tags: [])
        _ = try await self.store.importRegistrations([nobodys], app: .default, sequence: sequence)
        #expect(try await self.store.users(ofLive: [4, 3, 2, 1, 99]).map { $0?.name } == [nil, "ben", "ann", "ann"])
        _ = try await self.store.change(
            .delete(ids[1]),
            app: .default,
            user: nil,
            sequence: try await self.scenario.sequence(app: .default),
            expires: nil,
            most: nil
        )
        #expect(try await self.store.users(ofLive: [1, 2, 3]).map { $0?.name } == ["ann", "ben"])
    }

    @Test func outcomesCompleteAJobAndCountEachDeviceOnce() async throws {
        for number in 0..<25 {
            try await self.scenario.register(user: "u\(number)", handle: "aa\(number)", tags: ["news"])
        }
        let job = try await self.scenario.accept(self.scenario.send(to: .tag(Tag("news"))))
        let keys = try await self.scenario.plan(job, pages: 10)
        #expect(keys.count == 3)
        #expect(try await self.scenario.job(job.id).state == .running)
        #expect(try await self.scenario.job(job.id).hubState == .enqueued)
        // 25 of 16,000 are under way: whole batches are left.
        let room = try await self.store.room(for: .page, app: .default, pns: .apns, priority: .normal)
        #expect(room == FeedRoom(devices: 31_000))
        let first = BatchOutcome(
            key: keys[0],
            accepted: 8,
            failures: [
                DeviceFailure(row: 1, failure: .unregistered, status: 410, reason: "Unregistered"),
                DeviceFailure(row: 2, failure: .rejected, status: 400, reason: "PayloadTooLarge"),
            ],
            at: self.time.wall
        )
        #expect(try await self.store.record(first))
        #expect(try await !self.store.record(first))
        #expect(try await self.store.record(BatchOutcome(key: keys[1], accepted: 10, at: self.time.wall)))
        #expect(try await self.scenario.job(job.id).state == .running)
        #expect(try await self.store.record(BatchOutcome(key: keys[2], accepted: 5, at: self.time.wall)))
        let done = try await self.scenario.job(job.id)
        #expect(done.state == .completed)
        #expect(done.hubState == .completed)
        #expect(done.due == nil)
        let tally = try await self.scenario.tally(job.id)
        #expect(tally.targets == 25)
        #expect(tally.accepted == 23)
        #expect(tally.failed == [.unregistered: 1, .rejected: 1])
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

    @Test func carriedDevicesAreRetriedAndTheJobIsSeenRetrying() async throws {
        for number in 0..<3 {
            try await self.scenario.register(user: "u\(number)", handle: "aa\(number)", tags: ["news"])
        }
        let job = try await self.scenario.accept(self.scenario.send(to: .tag(Tag("news"))))
        let key = try #require(try await self.scenario.plan(job).first)
        let carried = [
            CarriedDevice(row: 2, tries: 1, wait: .seconds(5)), CarriedDevice(row: 3, tries: 2, wait: .seconds(3)),
        ]
        let outcome = BatchOutcome(
            key: key,
            accepted: 1,
            carried: carried,
            carriedReason: "503 ServiceUnavailable",
            at: self.time.wall
        )
        #expect(try await self.store.record(outcome))
        let waiting = try await self.scenario.job(job.id)
        #expect(waiting.state == .retrying)
        #expect(waiting.reason == "503 ServiceUnavailable")
        #expect(waiting.due == self.time.wall.advanced(by: .seconds(3)))
        #expect(try await self.store.dueBatches(limit: 10).isEmpty)
        #expect(try await self.store.jobs(JobQuery(app: .default, state: .retrying)).items.map(\.id) == [job.id])
        #expect(try await self.store.jobs(JobQuery(app: .default, state: .running)).items.isEmpty)
        self.time.advance(.seconds(4))
        let due = try #require(try await self.store.dueBatches(limit: 10).first)
        #expect(due.key == BatchKey(job: job.id, pns: .apns, page: 0, attempt: 1))
        #expect(due.overdue == .seconds(1))
        #expect(
            due.carried == [
                CarriedDevice(row: 2, tries: 1, wait: .seconds(2)), CarriedDevice(row: 3, tries: 2, wait: .zero),
            ]
        )
        try await self.store.markPublished(batches: [due.key], lease: Scenario.batchLease, isRepeat: false)
        #expect(try await self.store.dueBatches(limit: 10).isEmpty)
        #expect(try await self.scenario.job(job.id).state == .running)
        await #expect(throws: StoreError.self) {
            _ = try await self.store.record(BatchOutcome(key: due.key, accepted: 1, at: self.time.wall))
        }
        #expect(try await self.store.record(BatchOutcome(key: due.key, accepted: 2, at: self.time.wall)))
        let tally = try await self.scenario.tally(job.id)
        #expect(tally.targets == 3)
        #expect(tally.accepted == 3)
        #expect(try await self.scenario.job(job.id).state == .completed)
    }

    @Test func aBatchThatCannotBeReadDoesNotKeepOthersWaiting() async throws {
        try await self.scenario.register(user: "ann", handle: "aa", tags: ["news"])
        var keys: [BatchKey] = []
        for _ in 0..<2 {
            let job = try await self.scenario.accept(self.scenario.send(to: .tag(Tag("news"))), lifetime: .seconds(60))
            keys += try await self.scenario.plan(job, publish: false)
        }
        let broken = try #require(keys.first?.job)
        try await self.keep.store.write { context in
            try context.database.run("UPDATE job SET work = '{}' WHERE id = ?", [broken.blob])
        }
        self.time.advance(.seconds(10))
        #expect(try await self.store.dueBatches(limit: 10).map(\.key) == keys.suffix(1))
        // And it comes to its end.
        self.time.advance(.seconds(60))
        _ = try await self.store.perform(.expireJobs(lease: Scenario.lease), limit: 10)
        let isOpen = try await self.keep.store.read { try $0.exists("SELECT 1 FROM batch WHERE open = 1") }
        #expect(!isOpen)
    }

    @Test func planIsWrittenByTheLatestClaimAlone() async throws {
        try await self.scenario.register(user: "u", handle: "aa")
        let job = try await self.scenario.accept(self.scenario.send(to: .tag(Tag("username:u"))))
        let old = try #require(try await self.store.claim(job.id, lease: Scenario.lease))
        let new = try #require(try await self.store.claim(job.id, lease: Scenario.lease))
        #expect(new.epoch == old.epoch + 1)
        #expect(Set(new.lanes.map(\.pns)) == Set(PNS.allCases))
        var lane = try #require(old.lanes.first)
        lane.isDone = true
        let step = PlanStep(batches: [PlannedBatch(page: 0, from: 0, to: 1, size: 1)], lane: lane)
        #expect(try await self.store.commit(step, of: old, lease: Scenario.lease, grace: .zero) == .lost)
        #expect(try await !self.store.extend(old, lease: Scenario.lease))
        #expect(try await self.store.extend(new, lease: Scenario.lease))
        #expect(try await self.store.commit(step, of: new, lease: Scenario.lease, grace: .zero) == .more)
        #expect(try await self.store.dueBatches(limit: 10).count == 1)
    }

    @Test(arguments: [true, false]) func whatIsStoppedIsPlannedNoFurther(isCancelled: Bool) async throws {
        for number in 0..<4 { try await self.scenario.register(user: "u\(number)", handle: "aa\(number)", tags: ["t"]) }
        let job = try await self.scenario.accept(
            self.scenario.send(to: .tag(Tag("t")), platforms: [.apns]),
            lifetime: .seconds(60)
        )
        let claim = try #require(try await self.store.claim(job.id, lease: Scenario.lease))
        var lane = try #require(claim.lanes.first)
        (lane.after, lane.nextPage) = (2, 1)
        let first = PlanStep(batches: [PlannedBatch(page: 0, from: 0, to: 2, size: 2)], lane: lane)
        #expect(try await self.store.commit(first, of: claim, lease: Scenario.lease, grace: .zero) == .more)
        let key = BatchKey(job: job.id, pns: .apns, page: 0, attempt: 0)
        try await self.store.markPublished(batches: [key], lease: Scenario.batchLease, isRepeat: false)
        if isCancelled {
            _ = try await self.store.cancel(job.id, app: .default)
        } else {
            self.time.advance(.seconds(60))
            _ = try await self.store.perform(.expireJobs(lease: Scenario.lease), limit: 10)
        }
        // The planner had read its next page by then.
        (lane.after, lane.nextPage, lane.isDone) = (4, 2, true)
        let second = PlanStep(batches: [PlannedBatch(page: 1, from: 2, to: 4, size: 2)], lane: lane)
        #expect(try await self.store.commit(second, of: claim, lease: Scenario.lease, grace: .zero) == .lost)
        #expect(try await self.store.claim(job.id, lease: Scenario.lease) == nil)
        #expect(try await self.store.record(BatchOutcome(key: key, accepted: 2, at: self.time.wall)))
        #expect(try await self.scenario.job(job.id).state == (isCancelled ? .cancelled : .expired))
        let tally = try await self.scenario.tally(job.id)
        #expect((tally.targets, tally.accepted) == (2, 2))
    }

    @Test func registrationsAfterTheFirstClaimAreNotInTheAudience() async throws {
        try await self.scenario.register(user: "u", handle: "aa")
        let job = try await self.scenario.accept(self.scenario.send(to: .tag(Tag("username:u")), platforms: [.apns]))
        let claim = try #require(try await self.store.claim(job.id, lease: Scenario.lease))
        try await self.scenario.register(user: "u", handle: "bb")
        let again = try #require(try await self.store.claim(job.id, lease: Scenario.lease))
        #expect(again.lanes == claim.lanes)
        #expect(claim.lanes.map(\.through) == [1])
    }

    @Test func cancellingCountsWhatIsAtNoWorker() async throws {
        for number in 0..<6 { try await self.scenario.register(user: "u\(number)", handle: "aa\(number)", tags: ["t"]) }
        let job = try await self.scenario.accept(self.scenario.send(to: .tag(Tag("t"))))
        let keys = try await self.scenario.plan(job, pages: 2, publish: false)
        try await self.store.markPublished(batches: [keys[0]], lease: Scenario.batchLease, isRepeat: false)
        let stopped = try #require(try await self.store.cancel(job.id, app: .default))
        #expect(stopped.state == .cancelling)
        #expect(stopped.tallies[.apns]?.cancelled == 4)
        let standing = try await self.store.standing(of: keys)
        #expect(standing[keys[0]] == .stopping(.cancelled))
        #expect(standing[keys[1]] == .closed)
        // A worker that carries is told no: there is no next attempt.
        let outcome = BatchOutcome(
            key: keys[0],
            accepted: 1,
            carried: [CarriedDevice(row: 2, tries: 1, wait: .zero)],
            at: self.time.wall
        )
        #expect(try await self.store.record(outcome))
        let done = try await self.scenario.job(job.id)
        #expect(done.state == .cancelled)
        let tally = try await self.scenario.tally(job.id)
        #expect(tally.targets == 6)
        #expect(tally.accepted == 1)
        #expect(tally.cancelled == 5)
        #expect(try await self.store.cancel(job.id, app: .default)?.state == .cancelled)
        #expect(try await self.store.cancel(.make(), app: .default) == nil)
    }

    @Test func whatWorkersNeverAnsweredForIsClosedTwoLeasesAfterTheStop() async throws {
        try await self.scenario.register(user: "u", handle: "aa", tags: ["t"])
        let job = try await self.scenario.accept(self.scenario.send(to: .tag(Tag("t"))), lifetime: .seconds(10))
        _ = try await self.scenario.plan(job)
        #expect(try await self.store.perform(.expireJobs(lease: .seconds(60)), limit: 10) == 0)
        self.time.advance(.seconds(11))
        #expect(try await self.store.perform(.expireJobs(lease: .seconds(60)), limit: 10) == 1)
        #expect(try await self.scenario.job(job.id).state == .expiring)
        #expect(try await self.store.perform(.expireJobs(lease: .seconds(60)), limit: 10) == 0)
        self.time.advance(.seconds(121))
        #expect(try await self.store.perform(.expireJobs(lease: .seconds(60)), limit: 10) == 1)
        #expect(try await self.scenario.job(job.id).state == .expired)
        let tally = try await self.scenario.tally(job.id)
        #expect(tally.targets == 1)
        #expect(tally.expired == 1)
    }

    @Test func aDeadMessageClosesItsBatchOrJobOnce() async throws {
        for number in 0..<4 { try await self.scenario.register(user: "u\(number)", handle: "aa\(number)", tags: ["t"]) }
        let job = try await self.scenario.accept(self.scenario.send(to: .tag(Tag("t"))))
        let key = try #require(try await self.scenario.plan(job).first)
        let message = DeadMessage(
            queue: "deliver.apns.normal",
            type: "deliver",
            messageID: key.description,
            app: .default,
            reason: "began six times",
            body: [1, 2, 3]
        )
        try await self.store.deadLetter(message)
        try await self.store.deadLetter(message)
        let tally = try await self.scenario.tally(job.id)
        #expect(tally.targets == 4)
        #expect(tally.failed == [.dead: 4])
        #expect(try await self.scenario.job(job.id).state == .completed)
        #expect(try await !self.store.record(BatchOutcome(key: key, accepted: 4, at: self.time.wall)))
        let send = try await self.scenario.accept(self.scenario.send(to: .tag(Tag("t"))))
        try await self.store.deadLetter(
            DeadMessage(queue: "send.normal", type: "send", messageID: "\(send.id)", app: nil, reason: "r", body: [])
        )
        #expect(try await self.scenario.job(send.id).state == .abandoned)
    }

    @Test func abandonedSendsTellTheirWaiterOnce() async throws {
        let job = try await self.scenario.accept(self.scenario.send(to: .tag(Tag("t"))), waiter: "api.1")
        let claim = try #require(try await self.store.claim(job.id, lease: Scenario.lease))
        #expect(claim.waiter == "api.1")
        #expect(try await self.store.abandon(claim, reason: "no credentials") == "api.1")
        #expect(try await self.store.abandon(claim, reason: "no credentials") == nil)
        let done = try await self.scenario.job(job.id)
        #expect(done.state == .abandoned)
        #expect(done.hubState == .abandoned)
        #expect(done.reason == "no credentials")
        #expect(try await self.store.claim(job.id, lease: Scenario.lease) == nil)
    }

    @Test func startsOfABatchAreCounted() async throws {
        try await self.scenario.register(user: "u", handle: "aa", tags: ["t"])
        let job = try await self.scenario.accept(self.scenario.send(to: .tag(Tag("t"))))
        let key = try #require(try await self.scenario.plan(job).first)
        #expect(try await self.store.raiseStarts(batch: key) == 1)
        #expect(try await self.store.raiseStarts(batch: key) == 2)
        #expect(try await self.store.raiseStarts(job: job.id) == 1)
    }
}
