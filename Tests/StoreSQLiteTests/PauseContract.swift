import Foundation
import GRDB
import PushModel
import Store
import Testing

@testable import StoreSQLite

/// What any store must do with pauses: nothing of what is paused is fed, and all of it ends all the same.
struct PauseContract {
    let keep: TemporaryStore
    let scenario: Scenario
    var store: any ResultStore { self.scenario.store }
    var time: TestTime { self.scenario.time }

    init() throws {
        self.keep = try TemporaryStore()
        self.scenario = Scenario(store: self.keep.store, time: self.keep.time)
    }

    private func send(app: AppID = .default, lifetime: Duration = .seconds(86_400)) async throws -> Job {
        try await self.scenario.accept(
            self.scenario.send(to: .tag(PushModel.Tag("t"))),
            app: app,
            lifetime: lifetime
        )
    }

    private func due() async throws -> [JobID] {
        try await self.store.dueJobs(overdue: .seconds(1), limit: 10).map(\.id)
    }

    @Test func pausesAreKeptOnceAndByWhoCameFirst() async throws {
        let shop = try AppID("shop")
        try await self.store.pause(.send, app: nil, by: "host:root")
        try await self.store.pause(.send, app: nil, by: "host:other")
        try await self.store.pause(.deliver(.apns), app: shop, by: "key:k")
        let since = self.time.wall
        self.time.advance(.seconds(5))
        // As after a restart of every process.
        let pauses = try await self.keep.another().pauses()
        #expect(
            Set(pauses.map { "\($0.queue) \($0.app?.name ?? "all") \($0.by)" })
                == ["send all host:root", "deliver.apns shop key:k"]
        )
        #expect(pauses.allSatisfy { $0.since == since })
        #expect(try await self.store.resume(.send, app: nil))
        #expect(try await !self.store.resume(.send, app: nil))
        #expect(try await !self.store.resume(.deliver(.apns), app: .default))
        #expect(try await self.store.pauses().count == 1)
    }

    @Test(arguments: [true, false]) func aServiceThatIsPausedIsNotFed(isForAll: Bool) async throws {
        for number in 0..<4 { try await self.scenario.register(user: "u\(number)", handle: "a\(number)", tags: ["t"]) }
        let other = try AppID("other")
        try await self.scenario.register(user: "bob", handle: "b", tags: ["t"], app: other)
        let job = try await self.send()
        let keys = try await self.scenario.plan(job, pages: 1)
        let theirs = try await self.scenario.plan(try await self.send(app: other))
        try await self.store.pause(.deliver(.apns), app: isForAll ? nil : .default, by: "x")
        let room = try await self.store.room(for: .first, app: .default, pns: .apns, priority: .high)
        #expect(room.devices == 0 && room.isPaused && !room.isFull)
        #expect(try await !self.store.room(for: .first, app: .default, pns: .fcm, priority: .high).isFull)
        // One was given back, one is carried, one's lease has lapsed, one is at its worker.
        #expect(try await self.store.park(keys[0], for: .milliseconds(500), reason: "r"))
        #expect(try await self.store.park(theirs[0], for: .milliseconds(500), reason: "r"))
        let carried = [CarriedDevice(row: 2, tries: 1, wait: .zero)]
        #expect(try await self.store.record(BatchOutcome(key: keys[1], carried: carried, at: self.time.wall)))
        self.time.advance(Scenario.batchLease)
        let due = try await self.store.dueBatches(limit: 10).map(\.key.job)
        #expect(due.contains(job.id) == false)
        #expect(due.isEmpty == isForAll)
        let seen = try await self.scenario.job(job.id)
        #expect(seen.reason == "paused: deliver.apns")
        #expect(seen.due == nil)
        // What a worker brings still counts.
        #expect(try await self.store.record(BatchOutcome(key: keys[3], accepted: 1, at: self.time.wall)))
        let load = try #require(try await self.store.load(of: .default)[.deliver(.apns)])
        #expect((load.waiting, load.open, load.parked) == (1, 1, 1))
        #expect(try await self.store.resume(.deliver(.apns), app: isForAll ? nil : .default))
        #expect(try await self.store.dueBatches(limit: 10).count { $0.key.job == job.id } == 3)
        #expect(try await self.scenario.job(job.id).reason != "paused: deliver.apns")
    }

    @Test(arguments: [WorkQueue.send, .register]) func aJobThatIsHeldCostsNothingUntilItIsResumed(queue: WorkQueue)
        async throws
    {
        let new = NewJob(
            app: .default,
            work: .register(.delete(.random())),
            lifetime: .seconds(86_400)
        )
        guard case .accepted(let change) = try await self.store.accept(new) else { throw Unexpected("not accepted") }
        let send = try await self.send()
        let (held, free) = queue == .send ? (send, change) : (change, send)
        try await self.store.pause(queue, app: .default, by: "x")
        try await self.store.hold(held.id)
        // Whoever had published it marks it only now.
        try await self.store.markPublished(jobs: [held.id], lease: .seconds(60))
        self.time.advance(.seconds(10))
        #expect(try await self.due() == [free.id])
        #expect(try await self.scenario.job(held.id).reason == "paused: \(queue)")
        #expect(try await self.scenario.job(free.id).reason == nil)
        // Another's pause is another's.
        try await self.store.pause(queue, app: try AppID("other"), by: "x")
        #expect(try await self.store.resume(queue, app: .default))
        #expect(Set(try await self.due()) == [held.id, free.id])
        if queue == .send { #expect(try await self.store.claim(send.id, lease: Scenario.lease) != nil) }
        #expect(try await self.scenario.job(held.id).reason == nil)
    }

    @Test func aPlannerWhoseJobIsHeldLosesIt() async throws {
        try await self.scenario.register(user: "ann", handle: "a", tags: ["t"])
        let job = try await self.send()
        let claim = try #require(try await self.store.claim(job.id, lease: Scenario.lease))
        try await self.store.hold(job.id)
        #expect(try await !self.store.extend(claim, lease: Scenario.lease))
        let lane = try #require(claim.lanes.first)
        let step = PlanStep(batches: [], lane: lane)
        #expect(try await self.store.commit(step, of: claim, lease: Scenario.lease, grace: .zero) == .lost)
    }

    @Test func aBundleThatIsHeldWaits() async throws {
        let new = NewJob(
            app: .default,
            work: .send(self.scenario.send(to: .tag(try PushModel.Tag("t")))),
            lifetime: .seconds(100)
        )
        let bundle = try #require(try await self.store.accept(together: [new]).bundles.first)
        try await self.store.pause(.send, app: .default, by: "x")
        try await self.store.hold(bundle.id)
        try await self.store.markPublished(bundles: [bundle], lease: .seconds(60))
        self.time.advance(.seconds(5))
        #expect(try await self.store.dueBundles(overdue: .seconds(1), limit: 10).isEmpty)
        #expect(try await self.scenario.job(new.id).reason == "paused: send")
        #expect(try await self.store.load(of: .default)[.send]?.waiting == 1)
        #expect(try await self.store.resume(.send, app: .default))
        #expect(try await self.store.dueBundles(overdue: .seconds(1), limit: 10).map(\.id) == [bundle.id])
        // One whose time is over while it is paused ends.
        try await self.store.pause(.send, app: .default, by: "x")
        self.time.advance(.seconds(100))
        _ = try await self.store.perform(.expireJobs(lease: .seconds(60)), limit: 10)
        #expect(try await self.scenario.job(new.id).state == .expired)
    }

    @Test(arguments: [true, false]) func whatIsPausedEnds(isCancelled: Bool) async throws {
        for number in 0..<3 { try await self.scenario.register(user: "u\(number)", handle: "a\(number)", tags: ["t"]) }
        let job = try await self.send(lifetime: .seconds(100))
        let keys = try await self.scenario.plan(job, pages: 1)
        let held = try await self.send(lifetime: .seconds(100))
        for queue in WorkQueue.allCases { try await self.store.pause(queue, app: nil, by: "x") }
        try await self.store.hold(held.id)
        #expect(try await self.store.park(keys[0], for: .milliseconds(500), reason: "r"))
        if isCancelled {
            for id in [job.id, held.id] { _ = try await self.store.cancel(id, app: .default) }
        } else {
            self.time.advance(.seconds(101))
            _ = try await self.store.perform(.expireJobs(lease: .seconds(60)), limit: 10)
        }
        // What is still at the broker is given back by the worker that gets it.
        for key in keys.dropFirst() { #expect(try await self.store.park(key, for: .seconds(1), reason: "r")) }
        for id in [job.id, held.id] {
            #expect(try await self.scenario.job(id).state == (isCancelled ? .cancelled : .expired))
        }
        let tally = try await self.scenario.tally(job.id)
        #expect(tally.targets == 3)
        #expect(tally.accounted == 3)
        #expect(try await self.store.audit(after: 0, limit: 100).faults == [])
    }
}
