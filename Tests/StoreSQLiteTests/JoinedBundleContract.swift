import GRDB
import PushModel
import Store
import Testing

@testable import StoreSQLite

/// Sends that join a bundle which is there already: none is lost, whoever is at it (rules 2, 4 and 15).
struct JoinedBundleContract {
    let keep: TemporaryStore
    let scenario: Scenario
    var store: SQLiteStore { self.keep.store }

    init() throws {
        self.keep = try TemporaryStore()
        self.scenario = Scenario(store: self.keep.store, time: self.keep.time)
    }

    private static let lease = Duration.seconds(60)

    private func accept(
        _ count: Int = 1,
        app: AppID = .default,
        priority: Priority = .normal,
        joining: Bool
    ) async throws -> (bundle: SendBundle, jobs: [JobID]) {
        let jobs = try (0..<count).map { _ in
            NewJob(
                app: app,
                priority: priority,
                work: .send(self.scenario.send(to: .tag(Tag(user: try UserName("ann"))))),
                lifetime: .seconds(3600)
            )
        }
        let accepted = try await self.store.accept(together: jobs, joining: joining)
        return (try #require(accepted.bundles.first), jobs.map(\.id))
    }

    private func commit(_ sends: [SmallSend], of claim: BundleClaim) async throws -> BundleResult {
        let plan = BundlePlan(
            sends: sends.map {
                PlannedSend(sequence: $0.sequence, fate: .planned([SmallBatch(pns: .apns, size: 1, parcel: 0)]))
            },
            parcels: 1,
            through: sends.first?.through ?? 0
        )
        return try await self.store.commit(plan, of: claim, lease: Self.lease, grace: .seconds(10))
    }

    @Test func theyArePlannedWithThoseThatWereThere() async throws {
        let first = try await self.accept(2, joining: false)
        let second = try await self.accept(2, joining: true)
        #expect(first.bundle == second.bundle)
        let claim = try #require(try await self.store.claim(first.bundle.id, lease: Self.lease))
        #expect(try await self.store.smallSends(of: claim, devices: 10).map(\.id) == first.jobs + second.jobs)
        #expect(try await self.store.dueBundles(overdue: .zero, limit: 10).isEmpty)
    }

    @Test func thoseOfAnotherAppOrPriorityHaveTheirOwn() async throws {
        let other = try AppID("other")
        let first = try await self.accept(joining: true)
        let foreign = try await self.accept(app: other, joining: true)
        let again = try await self.accept(joining: true)
        let urgent = try await self.accept(priority: .high, joining: true)
        #expect(Set([first, foreign, again, urgent].map(\.bundle.id)).count == 4)
        for (bundle, jobs) in [first, foreign, again, urgent] {
            let claim = try #require(try await self.store.claim(bundle.id, lease: Self.lease))
            #expect(try await self.store.smallSends(of: claim, devices: 10).map(\.id) == jobs)
        }
    }

    /// A bundle's range may hold others' jobs, which joined theirs in between.
    @Test func whatLiesBetweenIsLeftToItsOwn() async throws {
        let first = try await self.accept(joining: false)
        let foreign = try await self.accept(app: try AppID("other"), joining: false)
        try await self.store.write { context in
            try context.database.run("UPDATE bundle SET last = last + 1 WHERE id = ?", [first.bundle.id.number])
        }
        let claim = try #require(try await self.store.claim(first.bundle.id, lease: Self.lease))
        #expect(try await self.store.smallSends(of: claim, devices: 10).map(\.id) == first.jobs)
        try await self.store.takeApart(first.bundle.id)
        #expect(try await self.store.dueJobs(overdue: .zero, limit: 10).map(\.id) == first.jobs)
        let other = try #require(try await self.store.claim(foreign.bundle.id, lease: Self.lease))
        #expect(try await self.store.smallSends(of: other, devices: 10).map(\.id) == foreign.jobs)
    }

    @Test func aFullBundleTakesNoMore() async throws {
        let first = try await self.accept(SendBundle.maximumJobs - 1, joining: false)
        let second = try await self.accept(1, joining: true)
        #expect(second.bundle == first.bundle)
        let third = try await self.accept(1, joining: true)
        #expect(third.bundle != first.bundle)
    }

    /// It is read, somebody joins, then what was read is written.
    @Test func whoeverJoinsBehindAPlannersBackIsPlannedNext() async throws {
        try await self.scenario.register(user: "ann", handle: "aa")
        let (bundle, _) = try await self.accept(joining: false)
        let look = try #require(try await self.store.look(at: bundle.id, devices: 10))
        let read = try await self.store.smallSends(of: look, devices: 10)
        let late = try await self.accept(joining: true)
        #expect(late.bundle == bundle)
        guard case .written(_, _, isDone: false) = try await self.commit(read, of: look) else {
            throw Unexpected("not written, or ended")
        }
        let rest = try await self.store.smallSends(of: look.held, devices: 10)
        #expect(rest.map(\.id) == late.jobs)
        guard case .written(_, _, isDone: true) = try await self.commit(rest, of: look.held) else {
            throw Unexpected("not written, or not ended")
        }
        #expect(try await self.accept(joining: true).bundle != bundle)
    }

    /// All that was read is cancelled, and its planner finds nothing.
    @Test func nothingToPlanIsNoEndForWhoeverJoined() async throws {
        let (bundle, jobs) = try await self.accept(joining: false)
        _ = try await self.store.cancel(jobs[0], app: .default)
        let look = try #require(try await self.store.look(at: bundle.id, devices: 10))
        #expect(look.glimpse?.sends.isEmpty == true)
        let late = try await self.accept(joining: true)
        guard case .written(_, _, isDone: false) = try await self.commit([], of: look) else {
            throw Unexpected("not written, or ended")
        }
        #expect(try await self.store.smallSends(of: look.held, devices: 10).map(\.id) == late.jobs)
    }

    /// A planner has looked at a bundle; a device is registered, and a send to it joins.
    @Test func whoeverJoinsReachesTheDevicesOfItsTime() async throws {
        let (bundle, _) = try await self.accept(joining: false)
        let look = try #require(try await self.store.look(at: bundle.id, devices: 10))
        try await self.scenario.register(user: "ann", handle: "aa")
        let late = try await self.accept(joining: true)
        #expect(late.bundle == bundle)
        let first = try #require(look.glimpse?.sends)
        let plan = BundlePlan(sends: first.map { PlannedSend(sequence: $0.sequence, fate: .planned([])) })
        let result = try await self.store.commit(plan, of: look, lease: Self.lease, grace: .seconds(10))
        guard case .written(_, _, isDone: false) = result else { throw Unexpected("not written, or ended") }
        let send = try #require(try await self.store.smallSends(of: look.held, devices: 10).first)
        #expect(send.id == late.jobs[0])
        guard case .all(let reaches) = send.audience else { throw Unexpected("too many") }
        #expect(reaches.map(\.pns) == [.apns])
        #expect(reaches.first?.devices.rows == [1])
        #expect(send.through == 1)
        _ = try await self.commit([send], of: look.held)
        let to = try await self.store.read {
            try $0.first("SELECT inline_to FROM job WHERE state = 2") { $0[0] as Int }
        }
        #expect(to == 1)
    }

    /// It may wait for a window or a lease: who comes now does not wait with it.
    @Test func aClaimedBundleIsNotJoined() async throws {
        let (bundle, _) = try await self.accept(joining: false)
        _ = try #require(try await self.store.claim(bundle.id, lease: Self.lease))
        #expect(try await self.accept(joining: true).bundle != bundle)
    }
}
