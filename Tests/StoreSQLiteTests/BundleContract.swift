import PushModel
import Store
import Testing

@testable import StoreSQLite

/// What any store must do with sends that are accepted and planned together (rules 2, 3, 13, 15 and 17).
struct BundleContract {
    let keep: TemporaryStore
    let scenario: Scenario
    var store: any ResultStore { self.scenario.store }
    var time: TestTime { self.keep.time }

    init() throws {
        self.keep = try TemporaryStore(maximumBacklog: 100)
        self.scenario = Scenario(store: self.keep.store, time: self.keep.time)
    }

    private static let lease = Duration.seconds(60)

    private func new(
        to user: String = "ann",
        _ expression: TagExpression? = nil,
        priority: Priority = .normal,
        key: String? = nil,
        hash: UInt8 = 1,
        lifetime: Duration = .seconds(3600)
    ) throws -> NewJob {
        NewJob(
            app: .default,
            priority: priority,
            work: .send(self.scenario.send(to: try expression ?? .tag(Tag("username:\(user)")))),
            lifetime: lifetime,
            idempotency: key.map { .init(caller: "key:a", route: "POST /api/sends/batch", key: $0, hash: [hash]) }
        )
    }

    private func ids(_ acceptance: GroupAcceptance) -> [JobID] {
        acceptance.answers.compactMap { if case .accepted(let job) = $0 { job.id } else { nil } }
    }

    /// Accepts sends to these users in one bundle.
    private func bundle(_ users: [String]) async throws -> (bundle: SendBundle, jobs: [JobID]) {
        let accepted = try await self.store.accept(together: users.map { try self.new(to: $0) })
        let bundle = try #require(accepted.bundles.first)
        return (bundle, self.ids(accepted))
    }

    private func claim(_ bundle: SendBundle) async throws -> BundleClaim {
        try #require(try await self.store.claim(bundle.id, lease: Self.lease))
    }

    /// Plans what a claim has now: each service of a send in the parcel of that service.
    private func plan(_ claim: BundleClaim) async throws -> (plan: BundlePlan, keys: [BatchKey]) {
        var plan = BundlePlan(parcels: PNS.allCases.count)
        var keys: [BatchKey] = []
        for send in try await self.store.smallSends(of: claim, devices: 10) {
            plan.through = send.through
            guard case .all(let reaches) = send.audience else {
                plan.sends.append(PlannedSend(sequence: send.sequence, fate: .single))
                continue
            }
            let batches = try reaches.map { reach in
                keys.append(BatchKey(job: send.id, pns: reach.pns, page: 0, attempt: 0))
                let parcel = try #require(PNS.allCases.firstIndex(of: reach.pns))
                return SmallBatch(pns: reach.pns, size: reach.devices.count, parcel: parcel)
            }
            plan.sends.append(PlannedSend(sequence: send.sequence, fate: .planned(batches)))
        }
        return (plan, keys)
    }

    /// How many devices of APNs are under way, as far as the window lets tell.
    private func underWay() async throws -> Int {
        let room = try await self.store.room(for: .retry, app: .default, pns: .apns, priority: .normal)
        return 2 * FeedWindow().devices - room.devices
    }

    private func commit(_ plan: BundlePlan, of claim: BundleClaim) async throws -> BundleResult {
        try await self.store.commit(plan, of: claim, lease: Self.lease, grace: .seconds(10))
    }

    @Test func aBundleIsDueForItsJobsUntilItIsPublished() async throws {
        let (bundle, jobs) = try await self.bundle(["ann", "bob"])
        self.time.advance(.seconds(5))
        #expect(try await self.store.dueJobs(overdue: .zero, limit: 10).isEmpty)
        #expect(try await self.store.dueBundles(overdue: .seconds(1), limit: 10) == [bundle])
        try await self.store.markPublished(bundles: [bundle], lease: Self.lease)
        #expect(try await self.store.dueBundles(overdue: .zero, limit: 10).isEmpty)
        self.time.advance(.seconds(60))
        #expect(try await self.store.dueBundles(overdue: .zero, limit: 10) == [bundle])
        for id in jobs { #expect(try await self.scenario.job(id).state == .queued) }
    }

    @Test func eachPriorityHasItsBundleAndWhatIsNoSmallSendHasNone() async throws {
        let any = TagExpression.any([.tag(try Tag("a")), .tag(try Tag("b"))])
        let accepted = try await self.store.accept(together: [
            self.new(to: "ann"), self.new(to: "bob", priority: .high), self.new(to: "cid", any), self.new(to: "dan"),
        ])
        #expect(self.ids(accepted).count == 4)
        #expect(accepted.bundles.map(\.priority) == [.high, .normal])
        #expect(accepted.singles.map(\.id) == [self.ids(accepted)[2]])
        let normal = try await self.claim(accepted.bundles[1])
        let sends = try await self.store.smallSends(of: normal, devices: 10)
        #expect(sends.map(\.id) == [self.ids(accepted)[0], self.ids(accepted)[3]])
        self.time.advance(.seconds(1))
        #expect(try await self.store.dueJobs(overdue: .zero, limit: 10).map(\.id) == [self.ids(accepted)[2]])
    }

    @Test func aRepeatedLineIsTheSameJobAndAnotherUnderItsKeyIsRefused() async throws {
        let first = try await self.store.accept(together: [self.new(key: "k#1"), self.new(key: "k#2")])
        // The upload broke off behind the second line, and comes again with a third.
        let again = try await self.store.accept(together: [
            self.new(key: "k#1"), self.new(key: "k#2", hash: 2), self.new(key: "k#3"),
        ])
        #expect(again.answers[0] == .repeated(self.ids(first)[0]))
        #expect(again.answers[1] == .keyReused)
        #expect(self.ids(again).count == 1)
        let claim = try await self.claim(try #require(again.bundles.first))
        #expect(try await self.store.smallSends(of: claim, devices: 10).map(\.id) == self.ids(again))
        #expect(try await self.store.accept(together: [self.new(key: "k#1")]).bundles.isEmpty)
    }

    @Test func keysMeetWithinAGroupToo() async throws {
        let accepted = try await self.store.accept(together: [
            self.new(key: "a"), self.new(), self.new(key: "a"), self.new(key: "b"), self.new(key: "a", hash: 2),
        ])
        let jobs = self.ids(accepted)
        #expect(jobs.count == 3)
        #expect(accepted.answers[2] == .repeated(jobs[0]))
        #expect(accepted.answers[4] == .keyReused)
        let claim = try await self.claim(try #require(accepted.bundles.first))
        #expect(try await self.store.smallSends(of: claim, devices: 10).map(\.id) == jobs)
    }

    /// Rows go in some at a time: each must be what its job is, whatever comes before and behind it.
    @Test(arguments: [1, 3, 4, 5, 15, 16, 17, 20, 37, 53])
    func ofManyEachIsItself(count: Int) async throws {
        let any = TagExpression.any(try (0..<150).map { .tag(try Tag("t\($0)")) })
        let jobs = try (0..<count).map { index in
            try self.new(
                to: "user\(index)",
                index % 7 == 3 ? any : nil,
                priority: index % 5 == 2 ? .high : .normal,
                key: index % 3 == 1 ? "k\(index)" : nil,
                lifetime: .seconds(100 + index)
            )
        }
        let accepted = try await self.store.accept(together: jobs)
        let found = self.ids(accepted)
        #expect(found == jobs.map(\.id))
        var sequences: [Int64] = []
        for (job, answer) in zip(jobs, accepted.answers) {
            guard case .accepted(let told) = answer else { throw Unexpected("\(answer)") }
            #expect(try await self.scenario.job(job.id) == told)
            #expect(told.expires == job.expires(accepted: told.accepted))
            sequences.append(told.sequence)
        }
        #expect(sequences.sorted() == Array(1...Int64(count)))
        #expect(Set(accepted.singles.map(\.id)) == Set(jobs.indices.filter { $0 % 7 == 3 }.map { jobs[$0].id }))
        var bundled: Set<JobID> = []
        for bundle in accepted.bundles {
            let sends = try await self.store.smallSends(of: try await self.claim(bundle), devices: 10)
            for send in sends { #expect(jobs.first { $0.id == send.id }?.priority == bundle.priority) }
            bundled.formUnion(sends.map(\.id))
        }
        #expect(bundled == Set(jobs.indices.filter { $0 % 7 != 3 }.map { jobs[$0].id }))
        for job in jobs where job.idempotency != nil {
            #expect(try await self.store.accept(together: [job]).answers == [.repeated(job.id)])
        }
    }

    @Test func beyondTheBacklogLinesAreRefusedAndTheOthersStand() async throws {
        let accepted = try await self.store.accept(together: (0..<103).map { _ in try self.new() })
        #expect(self.ids(accepted).count == 100)
        #expect(accepted.answers.suffix(3) == [.backlogFull, .backlogFull, .backlogFull])
    }

    @Test func plannedTogetherEachIsCountedForItself() async throws {
        try await self.scenario.register(user: "ann", handle: "aa")
        try await self.scenario.register(user: "ann", handle: "f", pns: .fcm)
        try await self.scenario.register(user: "bob", handle: "bb")
        let (bundle, jobs) = try await self.bundle(["ann", "nobody", "bob"])
        let claim = try await self.claim(bundle)
        let (plan, keys) = try await self.plan(claim)
        let result = try await self.commit(plan, of: claim)
        guard case .written(let parcels, let lost, let isDone) = result else { throw Unexpected("\(result)") }
        #expect(lost.isEmpty && isDone)
        #expect(parcels.compactMap { $0 }.count == 2)
        #expect(try await self.underWay() > 0)
        #expect(try await self.store.claim(bundle.id, lease: Self.lease) == nil)
        let empty = try await self.scenario.job(jobs[1])
        #expect(empty.state == .completed)
        #expect(empty.hubState == .noTargetFound)
        #expect(try await self.scenario.job(jobs[0]).state == .running)
        let outcomes = keys.map { BatchOutcome(key: $0, accepted: 1, at: self.time.wall) }
        #expect(try await self.store.record(together: outcomes) == [true, true, true])
        #expect(try await self.store.record(together: outcomes) == [false, false, false])
        for id in jobs { #expect(try await self.scenario.job(id).state == .completed) }
        #expect(try await self.scenario.job(jobs[0]).tallies.mapValues(\.accepted) == [.apns: 1, .fcm: 1])
        #expect(try await self.scenario.tally(jobs[2]).targets == 1)
        #expect(try await self.underWay() == 0)
        // Nothing is left to be published.
        self.time.advance(.seconds(3600))
        #expect(try await self.store.takeApartParcels(limit: 10) == 0)
        #expect(try await self.store.dueBatches(limit: 10).isEmpty)
    }

    @Test func aLaterClaimVoidsTheEarlier() async throws {
        try await self.scenario.register(user: "ann", handle: "aa")
        let (bundle, jobs) = try await self.bundle(["ann"])
        let first = try await self.claim(bundle)
        let (plan, _) = try await self.plan(first)
        let second = try await self.claim(bundle)
        #expect(second.epoch == first.epoch + 1)
        #expect(try await self.commit(plan, of: first) == .lost)
        #expect(try await !self.store.extend(first, lease: Self.lease))
        #expect(try await self.scenario.job(jobs[0]).state == .queued)
        let (again, keys) = try await self.plan(second)
        _ = try await self.commit(again, of: second)
        #expect(try await self.commit(again, of: second) == .lost)
        #expect(try await self.store.standing(of: keys) == [keys[0]: .open])
    }

    @Test func whoOnlyLookedTakesTheBundleOverWithTheFirstCommit() async throws {
        for user in ["ann", "bob"] { try await self.scenario.register(user: user, handle: "aa\(user)") }
        let (bundle, jobs) = try await self.bundle(["ann", "bob"])
        let first = try #require(try await self.store.look(at: bundle.id, devices: 10))
        let second = try #require(try await self.store.look(at: bundle.id, devices: 10))
        #expect(!first.isHeld)
        var (plan, _) = try await self.plan(first)
        plan.sends.removeLast()
        guard case .written(_, _, isDone: false) = try await self.commit(plan, of: first) else {
            throw Unexpected("not written")
        }
        // The other one is too late, and so is the first without what it holds now.
        #expect(try await self.commit(plan, of: second) == .lost)
        #expect(try await self.commit(plan, of: first) == .lost)
        #expect(try await self.scenario.job(jobs[0]).state == .running)
        #expect(try await self.scenario.job(jobs[1]).state == .queued)
        let held = first.held
        #expect(held.isHeld)
        #expect(try await self.store.smallSends(of: held, devices: 10).map(\.id) == [jobs[1]])
        let (rest, _) = try await self.plan(held)
        guard case .written(_, _, isDone: true) = try await self.commit(rest, of: held) else {
            throw Unexpected("not written")
        }
        #expect(try await self.scenario.job(jobs[1]).state == .running)
        #expect(try await self.store.look(at: bundle.id, devices: 10) == nil)
    }

    @Test func aClaimVoidsALook() async throws {
        try await self.scenario.register(user: "ann", handle: "aa")
        let (bundle, jobs) = try await self.bundle(["ann"])
        let look = try #require(try await self.store.look(at: bundle.id, devices: 10))
        let (plan, _) = try await self.plan(look)
        let claim = try await self.claim(bundle)
        #expect(try await self.commit(plan, of: look) == .lost)
        #expect(try await self.scenario.job(jobs[0]).state == .queued)
        guard case .written = try await self.commit(plan, of: claim) else { throw Unexpected("not written") }
    }

    @Test func whatIsStoppedBetweenReadingAndWritingIsLeftOut() async throws {
        for user in ["ann", "bob", "cid"] { try await self.scenario.register(user: user, handle: "aa\(user)") }
        let accepted = try await self.store.accept(together: [
            self.new(to: "ann"), self.new(to: "bob", lifetime: .seconds(10)), self.new(to: "cid"),
        ])
        let jobs = self.ids(accepted)
        let claim = try await self.claim(try #require(accepted.bundles.first))
        let (plan, keys) = try await self.plan(claim)
        _ = try await self.store.cancel(jobs[0], app: .default)
        self.time.advance(.seconds(11))
        _ = try await self.store.perform(.expireJobs(lease: Self.lease), limit: 10)
        let result = try await self.commit(plan, of: claim)
        guard case .written(_, let lost, _) = result else { throw Unexpected("\(result)") }
        #expect(lost == Set(plan.sends.prefix(2).map(\.sequence)))
        let standing = try await self.store.standing(of: keys)
        #expect(keys.map { standing[$0] } == [.closed, .closed, .open])
        #expect(try await self.scenario.job(jobs[0]).state == .cancelled)
        #expect(try await self.scenario.job(jobs[1]).state == .expired)
        #expect(try await self.scenario.tally(jobs[0]) == Tally())
    }

    @Test func aSendToManyGoesItsOwnWay() async throws {
        for number in 0..<11 { try await self.scenario.register(user: "ann", handle: "aa\(number)") }
        let (bundle, jobs) = try await self.bundle(["ann", "nobody"])
        let claim = try await self.claim(bundle)
        let sends = try await self.store.smallSends(of: claim, devices: 10)
        #expect(sends.map(\.audience) == [.large, .all([])])
        let (plan, _) = try await self.plan(claim)
        _ = try await self.commit(plan, of: claim)
        #expect(try await self.store.dueJobs(overdue: .zero, limit: 10).map(\.id) == [jobs[0]])
        let single = try #require(try await self.store.claim(jobs[0], lease: Self.lease))
        #expect(single.epoch == 1)
        #expect(try await self.store.smallSends(of: claim, devices: 10).isEmpty)
    }

    @Test func aBundleThatIsTakenApartLeavesItsJobsToTheOrdinaryWay() async throws {
        let (bundle, jobs) = try await self.bundle(["ann", "bob", "cid"])
        let claim = try await self.claim(bundle)
        _ = try await self.store.cancel(jobs[1], app: .default)
        try await self.store.takeApart(bundle.id)
        #expect(try await self.commit(BundlePlan(), of: claim) == .lost)
        #expect(Set(try await self.store.dueJobs(overdue: .zero, limit: 10).map(\.id)) == [jobs[0], jobs[2]])
        #expect(try await self.store.claim(bundle.id, lease: Self.lease) == nil)
    }

    @Test func aParcelThatIsGivenBackLeavesItsBatchesForLater() async throws {
        for user in ["ann", "bob"] { try await self.scenario.register(user: user, handle: "aa\(user)") }
        let (bundle, jobs) = try await self.bundle(["ann", "bob"])
        let claim = try await self.claim(bundle)
        let (plan, keys) = try await self.plan(claim)
        guard case .written(let parcels, _, _) = try await self.commit(plan, of: claim) else {
            throw Unexpected("lost")
        }
        let parcel = try #require(parcels.compactMap { $0 }.first)
        _ = try await self.store.record(BatchOutcome(key: keys[0], accepted: 1, at: self.time.wall))
        try await self.store.park(parcel, for: .seconds(5), reason: "slow")
        // Its planner says too late that it was published.
        try await self.store.markPublished(parcels: [parcel], lease: Self.lease)
        #expect(try await self.underWay() > 0)
        let job = try await self.scenario.job(jobs[1])
        #expect(job.state == .retrying)
        #expect(job.reason == "slow")
        #expect(try await self.store.dueBatches(limit: 10).isEmpty)
        self.time.advance(.seconds(5))
        #expect(try await self.store.dueBatches(limit: 10).map(\.key) == [keys[1]])
        try await self.store.park(parcel, for: .seconds(5), reason: "slow")
        #expect(try await self.store.dueBatches(limit: 10).map(\.key) == [keys[1]])
    }

    /// Others wait for the store meanwhile.
    @Test(arguments: [(1, [1, 1, 0]), (3, [1, 1, 0]), (4, [2, 0])])
    func parcelsAreTakenApartSoManyBatchesAtATime(limit: Int, parcels: [Int]) async throws {
        for user in ["ann", "bob"] {
            try await self.scenario.register(user: user, handle: "aa\(user)")
            try await self.scenario.register(user: user, handle: "f\(user)", pns: .fcm)
        }
        let (bundle, _) = try await self.bundle(["ann", "bob"])
        let claim = try await self.claim(bundle)
        let (plan, keys) = try await self.plan(claim)
        _ = try await self.commit(plan, of: claim)
        self.time.advance(.seconds(3600))
        for count in parcels { #expect(try await self.store.takeApartParcels(limit: limit) == count) }
        #expect(Set(try await self.store.dueBatches(limit: 10).map(\.key)) == Set(keys))
    }

    /// The planner died between its commit and the broker, or the message was lost.
    @Test func aParcelThatIsDueIsTakenApart() async throws {
        for user in ["ann", "bob"] { try await self.scenario.register(user: user, handle: "aa\(user)") }
        let (bundle, jobs) = try await self.bundle(["ann", "bob"])
        let claim = try await self.claim(bundle)
        let (plan, keys) = try await self.plan(claim)
        let result = try await self.commit(plan, of: claim)
        guard case .written(let parcels, _, _) = result else { throw Unexpected("\(result)") }
        try await self.store.markPublished(parcels: parcels.compactMap { $0 }, lease: Self.lease)
        _ = try await self.store.record(BatchOutcome(key: keys[0], accepted: 1, at: self.time.wall))
        self.time.advance(.seconds(59))
        #expect(try await self.store.takeApartParcels(limit: 10) == 0)
        self.time.advance(.seconds(1))
        #expect(try await self.store.takeApartParcels(limit: 10) == 1)
        let due = try await self.store.dueBatches(limit: 10)
        #expect(due.map(\.key) == [keys[1]])
        #expect(due.map(\.to) == [plan.through])
        #expect(try await self.underWay() == 0)
        _ = try await self.store.record(BatchOutcome(key: keys[1], accepted: 1, at: self.time.wall))
        for id in jobs { #expect(try await self.scenario.job(id).state == .completed) }
    }

    @Test func aCancelledSendInAParcelIsCountedByItsWorkerOrAfterTwoLeases() async throws {
        for user in ["ann", "bob"] { try await self.scenario.register(user: user, handle: "aa\(user)") }
        let (bundle, jobs) = try await self.bundle(["ann", "bob"])
        let claim = try await self.claim(bundle)
        let (plan, keys) = try await self.plan(claim)
        _ = try await self.commit(plan, of: claim)
        for id in jobs { _ = try await self.store.cancel(id, app: .default) }
        #expect(try await self.store.standing(of: [keys[0]]) == [keys[0]: .stopping(.cancelled)])
        _ = try await self.store.record(BatchOutcome(key: keys[0], cancelled: 1, at: self.time.wall))
        #expect(try await self.scenario.job(jobs[0]).state == .cancelled)
        #expect(try await self.scenario.job(jobs[1]).state == .cancelling)
        self.time.advance(.seconds(121))
        _ = try await self.store.perform(.expireJobs(lease: Self.lease), limit: 10)
        #expect(try await self.scenario.job(jobs[1]).state == .cancelled)
        #expect(try await self.scenario.tally(jobs[1]).cancelled == 1)
        #expect(try await self.underWay() == 0)
    }

    @Test func deadMessagesAreTakenApart() async throws {
        try await self.scenario.register(user: "ann", handle: "aa")
        let (bundle, _) = try await self.bundle(["ann"])
        let claim = try await self.claim(bundle)
        let (plan, keys) = try await self.plan(claim)
        let result = try await self.commit(plan, of: claim)
        guard case .written(let parcels, _, _) = result, let parcel = parcels.compactMap({ $0 }).first else {
            throw Unexpected("\(result)")
        }
        let (other, jobs) = try await self.bundle(["ann"])
        for name in [parcel.description, other.id.description] {
            let message = DeadMessage(queue: "q", type: "t", messageID: name, app: nil, reason: "", body: [])
            try await self.store.deadLetter(message)
        }
        #expect(try await self.store.dueBatches(limit: 10).map(\.key) == keys)
        #expect(try await self.store.dueJobs(overdue: .zero, limit: 10).map(\.id) == jobs)
    }
}
