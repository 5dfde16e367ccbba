import PushModel
import Store
import Testing

/// What any store must do about dead letters (rule 6): replay is once, and all that was counted still adds up.
@Suite(.everyStore) struct DeadLetterContract {
    let fixture: any StoreFixture
    let scenario: Scenario
    var store: any ResultStore { self.scenario.store }
    var time: TestTime { self.scenario.time }

    init() throws {
        self.fixture = try StoreFixtures.make()
        self.scenario = Scenario(self.fixture)
    }

    private func register(_ count: Int) async throws -> [RegistrationID] {
        var ids: [RegistrationID] = []
        for number in 0..<count {
            ids.append(try await self.scenario.register(user: "u\(number)", handle: "aa\(number)", tags: ["t"]))
        }
        return ids
    }

    private func send(lifetime: Duration = .seconds(86_400)) async throws -> Job {
        try await self.scenario.accept(self.scenario.campaign(to: "t"), lifetime: lifetime)
    }

    /// A message dies, and is kept.
    private func die(_ message: OutboxMessage) async throws -> DeadLetter {
        try await self.die("\(message.id)", type: message.queue.kind)
    }

    /// The message of a batch dies, and is kept.
    private func die(_ batch: BatchKey) async throws -> DeadLetter {
        try await self.die(self.scenario.message(of: batch))
    }

    private func die(_ messageID: String, type: String = "deliver", app: AppID? = .default) async throws -> DeadLetter {
        // A message without a row is an app's only where that is declared.
        if let app { _ = try await self.store.apply(.app(app, AppSpec())) }
        try await self.scenario.deadLetter(messageID, type: type, app: app)
        let list = try await self.store.deadLetters(DeadLetterQuery(app: app == nil ? nil : .default, limit: 1))
        return try #require(list.items.first)
    }

    /// Takes the retry of a page.
    private func takeRetry() async throws -> DueBatch { try #require(try await self.scenario.takeDueBatches().first) }

    private func replay(_ letter: DeadLetter) async throws -> Replay? {
        try await self.store.replay(deadLetter: letter.id, app: .default)
    }

    private func expectSound(_ sourceLocation: SourceLocation = #_sourceLocation) async throws {
        #expect(try await self.scenario.auditFaults() == [], sourceLocation: sourceLocation)
    }

    @Test func aReplayedPageIsRetriedOnceAndItsJobRunsAgain() async throws {
        _ = try await self.register(4)
        let job = try await self.send()
        let key = try #require(try await self.scenario.fanOut(job).first)
        let letter = try await self.die(key)
        #expect(try await self.scenario.job(job.id).state == .completed)
        #expect(letter.blockedReason == nil)
        #expect(letter.job == job.id)
        #expect(try await self.replay(letter) == .begun(job: job.id, devices: 4))
        #expect(try await self.replay(letter) == nil)
        try await self.expectSound()

        let running = try await self.scenario.job(job.id)
        #expect(running.state == .retrying)
        #expect(running.finished == nil)
        #expect(running.counts[.apns]?.targets == 4)
        #expect(running.counts[.apns]?.accounted == 0)
        // A copy of the message that died comes too late, and dies for itself.
        let late = try await self.die(key)
        let blockedReason = try #require(late.blockedReason)
        #expect(try await self.replay(late) == .refused(blockedReason))

        let due = try await self.takeRetry()
        let next = BatchKey(job: job.id, pns: .apns, page: 0, attempt: 1)
        #expect(due.key == next)
        #expect(due.retries.map(\.row) == [1, 2, 3, 4])
        #expect(try await self.scenario.record(BatchOutcome(key: next, accepted: 4, at: self.time.wall)))
        let done = try await self.scenario.job(job.id)
        #expect(done.state == .completed)
        #expect(done.counts[.apns]?.accepted == 4)
        #expect(done.counts[.apns]?.failed[.dead] ?? 0 == 0)
        try await self.expectSound()
    }

    /// The audience's page is as it is now: who left counts as deregistered, who joined is a target too.
    @Test(arguments: [(0, 0), (1, 0), (4, 0), (0, 2), (1, 2), (2, 1)])
    func aReplayedPageReadsItsAudienceAgain(left: Int, joined: Int)
        async throws
    {
        var ids = try await self.register(4)
        for _ in 0..<joined {
            // Registered before the send, with the tag only after it.
            ids.append(try await self.scenario.register(user: "late\(ids.count)", handle: "bb\(ids.count)"))
        }
        let job = try await self.send()
        let key = try #require(try await self.scenario.fanOut(job).first)
        let letter = try await self.die(key)
        for id in ids.prefix(left) {
            _ = try await self.store.register(
                .delete(id),
                of: RegisterJob(app: .default, sequence: try await self.scenario.sequence())
            )
        }
        for number in 4..<4 + joined {
            _ = try await self.scenario.upsert(ids[number], user: "late\(number)", handle: "bb\(number)", tags: ["t"])
        }
        let count = 4 - left + joined
        #expect(try await self.replay(letter) == .begun(job: job.id, devices: count))
        try await self.expectSound()
        if count > 0 {
            let next = BatchKey(job: job.id, pns: .apns, page: 0, attempt: 1)
            #expect(try await self.scenario.record(BatchOutcome(key: next, accepted: count, at: self.time.wall)))
        }
        let done = try await self.scenario.job(job.id)
        #expect(done.state == .completed)
        let counts = try #require(done.counts[.apns])
        #expect(counts.targets == max(4, count))
        #expect(counts.accepted == count)
        #expect(counts.failed[.deregistered] ?? 0 == max(0, 4 - count))
        try await self.expectSound()
    }

    @Test func aReplayedRetryHasItsDevicesAndNoOthers() async throws {
        _ = try await self.register(5)
        let job = try await self.send()
        let keys = try await self.scenario.fanOut(job, pages: 3)
        let retries = [1, 3].map { RetryDevice(row: $0, tries: 2, wait: .seconds(3)) }
        let first = BatchOutcome(key: keys[0], accepted: 1, retries: retries, at: self.time.wall)
        #expect(try await self.scenario.record(first))
        self.time.advance(.seconds(3))
        let retry = try await self.takeRetry().key
        #expect(retry == BatchKey(job: job.id, pns: .apns, page: 0, attempt: 1))
        let letter = try await self.die(retry)
        // Another page's failures of the same kind stay.
        let other = try await self.die(keys[1])
        #expect(try await self.scenario.counts(job.id).failed == [.dead: 4])
        #expect(try await self.replay(letter) == .begun(job: job.id, devices: 2))
        try await self.expectSound()
        let due = try await self.takeRetry()
        #expect(due.key.attempt == 2)
        #expect(due.retries == [1, 3].map { RetryDevice(row: $0, tries: 2, wait: .zero) })
        #expect(try await self.store.deliveries(DeliveryQuery(job: job.id, app: .default)).items.isEmpty)
        #expect(try await self.scenario.record(BatchOutcome(key: due.key, accepted: 2, at: self.time.wall)))
        #expect(try await self.replay(other) == .begun(job: job.id, devices: 2))
        let last = BatchKey(job: job.id, pns: .apns, page: 1, attempt: 1)
        #expect(try await self.scenario.record(BatchOutcome(key: last, accepted: 2, at: self.time.wall)))
        let counts = try await self.scenario.counts(job.id)
        #expect(counts.targets == 5)
        #expect(counts.accepted == 5)
        try await self.expectSound()
    }

    /// Each from a store of its own, as from two API processes.
    @Test func onlyOneOfSeveralConcurrentReplaysSucceeds() async throws {
        _ = try await self.register(3)
        let job = try await self.send()
        let key = try #require(try await self.scenario.fanOut(job).first)
        let letter = try await self.die(key)
        let stores = try (0..<4).map { _ in try self.fixture.another() }
        let begun = try await withThrowingTaskGroup(of: Replay?.self, returning: [Replay].self) { group in
            for store in stores {
                group.addTask { try await store.replay(deadLetter: letter.id, app: .default) }
            }
            return try await group.reduce(into: []) { if let replay = $1 { $0.append(replay) } }
        }
        #expect(begun == [.begun(job: job.id, devices: 3)])
        #expect(try await self.scenario.takeDueBatches().count == 1)
        try await self.expectSound()
    }

    @Test(arguments: [true, false]) func aStoppedJobIsNotReplayed(isCancelled: Bool) async throws {
        _ = try await self.register(4)
        let job = try await self.send(lifetime: .seconds(100))
        let keys = try await self.scenario.fanOut(job, pages: 2)
        let letter = try await self.die(keys[0])
        if isCancelled {
            _ = try await self.store.cancel(job.id, app: .default)
        } else {
            self.time.advance(.seconds(101))
            try await self.scenario.expireJobs(limit: 10)
        }
        for _ in 0..<2 {
            guard case .refused(let reason) = try await self.replay(letter) else { throw Unexpected("replayed") }
            #expect(reason == (isCancelled ? "its job was cancelled" : "its job expired"))
            self.time.advance(Scenario.closedAfterStop)
            try await self.scenario.expireJobs(limit: 10)
        }
        #expect(try await self.scenario.job(job.id).state == (isCancelled ? .cancelled : .expired))
        #expect(try await self.store.deadLetter(letter.id, app: .default)?.blockedReason != nil)
        try await self.expectSound()
    }

    @Test func anExpiredFinalJobIsNotReplayed() async throws {
        _ = try await self.register(2)
        let job = try await self.send(lifetime: .seconds(100))
        let letter = try await self.die(try #require(try await self.scenario.fanOut(job).first))
        self.time.advance(.seconds(100))
        guard case .refused(let reason) = try await self.replay(letter) else { throw Unexpected("replayed") }
        #expect(reason.hasPrefix("its job expired at 20"))
        #expect(try await self.scenario.job(job.id).state == .completed)
    }

    /// What runs again ends again, whoever looks after it: by expiry, and by cancelling.
    @Test(arguments: [true, false]) func aReplayedJobEndsByCancellingOrExpiry(isCancelled: Bool) async throws {
        _ = try await self.register(2)
        let job = try await self.send(lifetime: .seconds(100))
        let letter = try await self.die(try #require(try await self.scenario.fanOut(job).first))
        _ = try await self.replay(letter)
        if isCancelled {
            _ = try await self.store.cancel(job.id, app: .default)
        } else {
            self.time.advance(.seconds(101))
            try await self.scenario.expireJobs(limit: 10)
        }
        let done = try await self.scenario.job(job.id)
        #expect(done.state == (isCancelled ? .cancelled : .expired))
        #expect(done.counts[.apns]?.targets == 2)
        #expect(done.counts[.apns]?.accounted == 2)
        try await self.expectSound()
    }

    @Test func aRegisterJobIsQueuedAgain() async throws {
        let new = NewJob(
            app: .default,
            work: .register(.delete(.random())),
            lifetime: .seconds(100)
        )
        let job = try await self.scenario.accept(new)
        let message = try self.scenario.message(of: job.id)
        for _ in 0..<6 { _ = try await self.store.redelivered(message.id) }
        let letter = try await self.die(message)
        #expect(letter.job == job.id)
        #expect(try await self.scenario.job(job.id).state == .abandoned)
        #expect(try await self.replay(letter) == .begun(job: job.id, devices: nil))
        #expect(try await self.scenario.job(job.id).state == .queued)
        #expect(try await self.scenario.job(job.id).reason == nil)
        #expect(try await self.scenario.takeDueJobs() == [job.id])
        // It may be handed out as often as any other.
        let again = try self.scenario.message(of: job.id)
        #expect(try await self.store.redelivered(again.id)?.count == 1)
        // It dies again: another number.
        let second = try await self.die(again)
        #expect(second.id > letter.id)
        #expect(try await self.replay(second) == .begun(job: job.id, devices: nil))
        _ = try await self.store.finishRegister(job.id, result: .done)
        #expect(try await self.scenario.job(job.id).state == .completed)
        try await self.expectSound()
    }

    @Test(arguments: [true, false]) func aReplayedSendContinuesItsFanOut(isBegun: Bool) async throws {
        _ = try await self.register(4)
        let job = try await self.send()
        var first: BatchKey?
        if isBegun {
            var claim = try #require(try await self.scenario.claimCampaign(job))
            #expect(try await claim.commit(devices: 2, through: 2).isMore)
            first = claim.key()
        }
        let letter = try await self.die(self.scenario.message(of: job.id))
        if let first {
            #expect(try await self.scenario.record(BatchOutcome(key: first, accepted: 2, at: self.time.wall)))
        }
        #expect(try await self.scenario.job(job.id).state == (isBegun ? .completed : .abandoned))
        #expect(try await self.replay(letter) == .begun(job: job.id, devices: nil))
        #expect(try await self.scenario.job(job.id).state == (isBegun ? .running : .queued))
        #expect(try await self.scenario.takeDueJobs() == [job.id])
        let rest = try await self.scenario.fanOut(job)
        #expect(rest.map(\.page) == [isBegun ? 1 : 0])
        let count = isBegun ? 2 : 4
        #expect(try await self.scenario.record(BatchOutcome(key: rest[0], accepted: count, at: self.time.wall)))
        let done = try await self.scenario.job(job.id)
        #expect(done.state == .completed)
        #expect(done.reason == nil)
        #expect(done.counts[.apns]?.accepted == 4)
        try await self.expectSound()
    }

    /// The broker's own limit condemns a message without regard to whose fault it is: each member gets another chance, alone.
    @Test func aDeadLetterOfSeveralMembersIsSplit() async throws {
        _ = try await self.register(2)
        let (message, _) = try await self.scenario.acceptGroup(["u0", "u1"])
        let (keys, deliveries) = try await self.scenario.fanOut(group: message)
        let (other, jobs) = try await self.scenario.acceptGroup(["u0", "u1"])
        try await self.scenario.deadLetter("\(deliveries[0].id)")
        try await self.scenario.deadLetter("\(other.id)", type: "send")
        #expect(try await self.scenario.status(of: keys) == [.open, .open])
        let taken = try await self.scenario.takeDue()
        #expect(taken.count == 4)
        #expect(Set(try keys.map { try self.scenario.message(of: $0).id }).count == 2)
        #expect(Set(try jobs.map { try self.scenario.message(of: $0).id }).count == 2)
        for id in jobs { #expect(try await self.scenario.job(id).state == .queued) }
        try await self.expectSound()
    }

    @Test func eachAppListsItsOwnDeadLetters() async throws {
        let (shop, unknown) = (try AppID("shop"), try AppID("unknown"))
        for app in [AppID.default, shop] { _ = try await self.store.apply(.app(app, AppSpec())) }
        let job = try await self.scenario.accept(self.scenario.campaign(to: "t"), app: shop)
        let number = try self.scenario.message(of: job.id).id.description
        for (name, app) in [(number, AppID.default), ("a", shop), ("b", unknown), ("c", .default)] {
            try await self.scenario.deadLetter(name, type: "send", app: app)
        }
        let mine = try await self.store.deadLetters(DeadLetterQuery(app: .default, limit: 10)).items
        #expect(mine.map(\.messageID) == ["c"])
        #expect(try await self.store.deadLetters(DeadLetterQuery(app: .default, limit: 2)).cursor == nil)
        #expect(try await self.store.deadLetters(DeadLetterQuery(app: nil, limit: 2)).items.map(\.messageID) == ["b"])
        let theirs = try await self.store.deadLetters(DeadLetterQuery(app: shop, limit: 1))
        #expect(theirs.items.map(\.messageID) == ["a"])
        let rest = try await self.store.deadLetters(DeadLetterQuery(app: shop, cursor: theirs.cursor, limit: 10))
        // Whatever its header says: it is its job's app's.
        #expect(rest.items.map(\.job) == [job.id])
        // Each app has numbers of its own, which say nothing of the others', and are not used again.
        #expect(theirs.items.map(\.id) == [2] && rest.items.map(\.id) == [1] && mine.map(\.id) == [1])
        #expect(try await self.store.deadLetter(2, app: .default) == nil)
        #expect(try await self.store.replay(deadLetter: 2, app: .default) == nil)
        #expect(try await self.store.discard(deadLetter: 2, app: .default) == nil)
        _ = try await self.store.discard(deadLetter: 2, app: shop)
        try await self.scenario.deadLetter("d", type: "send", app: shop)
        #expect(try await self.store.deadLetters(DeadLetterQuery(app: shop, limit: 10)).items.map(\.id) == [3, 1])
    }

    @Test func aDiscardedDeadLetterStaysCounted() async throws {
        _ = try await self.register(3)
        let job = try await self.send()
        let letter = try await self.die(try #require(try await self.scenario.fanOut(job).first))
        #expect(try await self.store.discard(deadLetter: letter.id, app: .default) == letter)
        #expect(try await self.scenario.counts(job.id).failed == [.dead: 3])
        #expect(try await self.replay(letter) == nil)
        try await self.expectSound()
    }

    /// Retention waits for the dead letter; once replayed, the job is not one that is over.
    @Test func aReplayedJobIsNotRemoved() async throws {
        _ = try await self.register(2)
        let job = try await self.send(lifetime: .seconds(10 * 86_400))
        let letter = try await self.die(try #require(try await self.scenario.fanOut(job).first))
        self.time.advance(.seconds(2 * 86_400))
        func clean(_ kind: Retained) async throws -> Int {
            try await self.store.perform(.remove(kind, olderThan: .seconds(86_400)), limit: 100).rows
        }
        _ = try await clean(.jobs)
        #expect(try await self.scenario.job(job.id).state == .completed)
        #expect(try await self.replay(letter) == .begun(job: job.id, devices: 2))
        for kind in Retained.allCases { _ = try await clean(kind) }
        #expect(try await self.scenario.job(job.id).state == .retrying)
        let next = BatchKey(job: job.id, pns: .apns, page: 0, attempt: 1)
        #expect(try await self.scenario.record(BatchOutcome(key: next, accepted: 2, at: self.time.wall)))
        self.time.advance(.seconds(2 * 86_400))
        #expect(try await clean(.jobs) > 0)
        #expect(try await self.store.job(job.id, app: .default) == nil)
    }
}
