import PushModel
import Store
import Testing

/// What any store must do with sends that share a message (rules 2, 3, 13, 15 and 17).
@Suite(.everyStore) struct GroupContract {
    let fixture: any StoreFixture
    let scenario: Scenario
    var store: any ResultStore { self.scenario.store }
    var time: TestTime { self.fixture.time }

    init() throws {
        self.fixture = try StoreFixtures.make(StoreOptions(maximumBacklog: 100))
        self.scenario = Scenario(self.fixture)
    }

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
            work: .send(self.scenario.send(to: try expression ?? .tag(PushModel.Tag("username:\(user)", .folded)))),
            lifetime: lifetime,
            idempotency: key.map { .init(caller: "key:a", route: "POST /api/sends/batch", key: $0, hash: [hash]) }
        )
    }

    private func ids(_ accepted: AcceptedJobs) -> [JobID] {
        accepted.answers.compactMap { if case .accepted(let job) = $0 { job.id } else { nil } }
    }

    private func claim(_ message: OutboxMessage) async throws -> FanOutClaim {
        try #require(try await self.store.claim(message.id, peeking: false))
    }

    /// How many devices of APNs are in flight, as far as the window lets tell.
    private func inFlight() async throws -> Int {
        let credit = try await self.store.credit(for: .retry, app: .default, pns: .apns, priority: .normal)
        return 2 * InFlightWindow().devices - credit.devices
    }

    // MARK: Accepting

    @Test func sendsToOneTagShareAMessageForEachPriority() async throws {
        let any = TagExpression.any([.tag(try Tag("a", .folded)), .tag(try Tag("b", .folded))])
        let accepted = try await self.store.accept([
            self.new(to: "ann"), self.new(to: "bob", priority: .high), self.new(to: "cid", any), self.new(to: "dan"),
        ])
        let ids = self.ids(accepted)
        #expect(ids.count == 4)
        var members: [[JobID]] = []
        for message in accepted.messages {
            #expect(message.queue == .send)
            #expect(message.priority == (try await self.scenario.jobs(of: message) == [ids[1]] ? .high : .normal))
            members.append(try await self.scenario.jobs(of: message))
        }
        #expect(members.count == 3)
        #expect(Set(members) == [[ids[0], ids[3]], [ids[1]], [ids[2]]])
    }

    @Test func registerJobsHaveAMessageOfTheirOwn() async throws {
        let jobs = (0..<3).map { _ in
            NewJob(app: .default, work: .register(.delete(.random())), lifetime: .seconds(60))
        }
        let accepted = try await self.store.accept(jobs)
        #expect(accepted.messages.map(\.queue) == [.register, .register, .register])
        var members: [JobID] = []
        for message in accepted.messages { members += try await self.store.registerJobs(of: message.id).map(\.id) }
        #expect(Set(members) == Set(jobs.map(\.id)))
    }

    @Test func aRepeatedLineIsTheSameJobAndAnotherUnderItsKeyIsRefused() async throws {
        let first = try await self.store.accept([self.new(key: "k#1"), self.new(key: "k#2")])
        // The upload broke off behind the second line, and comes again with a third.
        let again = try await self.store.accept([
            self.new(key: "k#1"), self.new(key: "k#2", hash: 2), self.new(key: "k#3"),
        ])
        #expect(again.answers[0] == .repeated(self.ids(first)[0]))
        #expect(again.answers[1] == .keyReused)
        #expect(self.ids(again).count == 1)
        let message = try #require(again.messages.first)
        #expect(try await self.scenario.jobs(of: message) == self.ids(again))
        #expect(try await self.store.accept([self.new(key: "k#1")]).messages.isEmpty)
    }

    @Test func repeatedKeysOfOneRequestAreFound() async throws {
        let accepted = try await self.store.accept([
            self.new(key: "a"), self.new(), self.new(key: "a"), self.new(key: "b"), self.new(key: "a", hash: 2),
        ])
        let jobs = self.ids(accepted)
        #expect(jobs.count == 3)
        #expect(accepted.answers[2] == .repeated(jobs[0]))
        #expect(accepted.answers[4] == .keyReused)
        #expect(try await self.scenario.jobs(of: try #require(accepted.messages.first)) == jobs)
    }

    /// A driver may insert rows some at a time: each must be what its job is, whatever comes before and behind it.
    @Test(arguments: [1, 3, 4, 5, 15, 16, 17, 20, 37, 53])
    func manyJobsAreStoredAsGiven(count: Int) async throws {
        let any = TagExpression.any(try (0..<150).map { .tag(try Tag("t\($0)", .folded)) })
        let jobs = try (0..<count).map { index in
            try self.new(
                to: "user\(index)",
                index % 7 == 3 ? any : nil,
                priority: index % 5 == 2 ? .high : .normal,
                key: index % 3 == 1 ? "k\(index)" : nil,
                lifetime: .seconds(100 + index)
            )
        }
        let accepted = try await self.store.accept(jobs)
        #expect(self.ids(accepted) == jobs.map(\.id))
        var sequences: [Int64] = []
        for (job, answer) in zip(jobs, accepted.answers) {
            guard case .accepted(let told) = answer else { throw Unexpected("\(answer)") }
            #expect(try await self.scenario.job(job.id) == told)
            #expect(told.expires == job.expires(accepted: told.accepted))
            sequences.append(told.sequence)
        }
        #expect(Set(sequences).count == count)
        var members: [JobID] = []
        for message in accepted.messages {
            let some = try await self.scenario.jobs(of: message)
            for id in some { #expect(jobs.first { $0.id == id }?.priority == message.priority) }
            // What goes to many tags goes alone.
            if some.count > 1 { #expect(!some.contains { id in jobs.firstIndex { $0.id == id }.map { $0 % 7 } == 3 }) }
            members += some
        }
        #expect(members.count == count)
        #expect(Set(members) == Set(jobs.map(\.id)))
        for job in jobs where job.idempotency != nil {
            #expect(try await self.store.accept([job]).answers == [.repeated(job.id)])
        }
    }

    @Test func jobsBeyondTheBacklogAreRefusedAndTheOthersAccepted() async throws {
        let accepted = try await self.store.accept((0..<103).map { _ in try self.new() })
        #expect(self.ids(accepted).count == 100)
        #expect(accepted.answers.suffix(3) == [.backlogFull, .backlogFull, .backlogFull])
    }

    // MARK: Fan-out

    @Test func everySendOfAGroupHasItsOwnCounts() async throws {
        try await self.scenario.register(user: "ann", handle: "aa")
        try await self.scenario.register(user: "ann", handle: "f", pns: .fcm)
        try await self.scenario.register(user: "bob", handle: "bb")
        let (message, jobs) = try await self.scenario.acceptGroup(["ann", "nobody", "bob"])
        let claim = try await self.claim(message)
        let (step, keys) = try await self.scenario.step(for: claim)
        let written = try await self.scenario.commit(step, of: claim, keys: keys).written
        #expect(written.lost.isEmpty && written.ownMessages.isEmpty && written.isDone)
        #expect(Set(written.deliveries.compactMap { $0?.queue }) == [.deliver(.apns), .deliver(.fcm)])
        #expect(try await self.inFlight() > 0)
        #expect(try await self.store.claim(message.id, peeking: false) == nil)
        let empty = try await self.scenario.job(jobs[1])
        #expect(empty.state == .completed)
        #expect(empty.isWithoutTargets)
        #expect(try await self.scenario.job(jobs[0]).state == .running)
        let outcomes = keys.map { BatchOutcome(key: $0, accepted: 1, at: self.time.wall) }
        #expect(try await self.store.record(outcomes) == [true, true, true])
        #expect(try await self.store.record(outcomes) == [false, false, false])
        for id in jobs { #expect(try await self.scenario.job(id).state == .completed) }
        #expect(try await self.scenario.job(jobs[0]).counts.mapValues(\.accepted) == [.apns: 1, .fcm: 1])
        #expect(try await self.scenario.counts(jobs[2]).targets == 1)
        #expect(try await self.inFlight() == 0)
        // Nothing is left to be published.
        self.time.advance(.seconds(3600))
        #expect(try await self.scenario.takeDue().isEmpty)
    }

    @Test func aLaterClaimVoidsTheEarlier() async throws {
        try await self.scenario.register(user: "ann", handle: "aa")
        let (message, jobs) = try await self.scenario.acceptGroup(["ann", "nobody"])
        let first = try await self.claim(message)
        let (step, _) = try await self.scenario.step(for: first)
        let second = try await self.claim(message)
        #expect(second.message.epoch == first.message.epoch + OutboxMessage.claimStep)
        #expect(second.claims == first.claims + 1)
        #expect(try await self.scenario.commit(step, of: first) == .lost)
        #expect(try await !self.store.extend(first))
        #expect(try await self.scenario.job(jobs[0]).state == .queued)
        let (again, keys) = try await self.scenario.step(for: second)
        #expect(try await self.scenario.commit(again, of: second).written.isDone)
        #expect(try await self.scenario.commit(again, of: second) == .lost)
        #expect(try await self.scenario.status(of: keys) == [.open])
    }

    @Test func theFirstCommitOfAPeekClaimsTheMessage() async throws {
        for user in ["ann", "bob"] { try await self.scenario.register(user: user, handle: "aa\(user)") }
        let (message, jobs) = try await self.scenario.acceptGroup(["ann", "bob"])
        let first = try #require(try await self.store.claim(message.id, peeking: true))
        let second = try #require(try await self.store.claim(message.id, peeking: true))
        #expect(!first.isClaimed)
        var (step, _) = try await self.scenario.step(for: first)
        step.sends.removeLast()
        #expect(try await self.scenario.commit(step, of: first).isMore)
        // The other one is too late, and so is the first as it was before its commit.
        #expect(try await self.scenario.commit(step, of: second) == .lost)
        #expect(try await self.scenario.commit(step, of: first) == .lost)
        #expect(try await self.scenario.job(jobs[0]).state == .running)
        #expect(try await self.scenario.job(jobs[1]).state == .queued)
        let claimed = first.claimed
        #expect(claimed.isClaimed)
        #expect(try await self.store.extend(claimed))
        #expect(try await self.scenario.sends(of: claimed).map(\.id) == [jobs[1]])
        let (rest, _) = try await self.scenario.step(for: claimed)
        #expect(try await self.scenario.commit(rest, of: claimed).written.isDone)
        #expect(try await self.scenario.job(jobs[1]).state == .running)
        #expect(try await self.store.claim(message.id, peeking: true) == nil)
    }

    @Test func aClaimVoidsAPeek() async throws {
        try await self.scenario.register(user: "ann", handle: "aa")
        let (message, jobs) = try await self.scenario.acceptGroup(["ann", "nobody"])
        let peek = try #require(try await self.store.claim(message.id, peeking: true))
        let (step, _) = try await self.scenario.step(for: peek)
        let claim = try await self.claim(message)
        #expect(try await self.scenario.commit(step, of: peek) == .lost)
        #expect(try await self.scenario.job(jobs[0]).state == .queued)
        #expect(try await self.scenario.commit(step, of: claim).written.isDone)
    }

    /// A send worker's write checks the job's own state and message, not only the claim.
    @Test func jobsStoppedBetweenReadAndCommitAreNotFannedOut() async throws {
        for user in ["ann", "bob", "cid"] { try await self.scenario.register(user: user, handle: "aa\(user)") }
        let accepted = try await self.store.accept([
            self.new(to: "ann"), self.new(to: "bob", lifetime: .seconds(10)), self.new(to: "cid"),
        ])
        let jobs = self.ids(accepted)
        let claim = try await self.claim(try #require(accepted.messages.first))
        let (step, keys) = try await self.scenario.step(for: claim)
        _ = try await self.store.cancel(jobs[0], app: .default)
        self.time.advance(.seconds(11))
        try await self.scenario.expireJobs()
        let written = try await self.scenario.commit(step, of: claim, keys: keys).written
        #expect(written.lost == Set(step.sends.prefix(2).map(\.sequence)))
        #expect(written.isDone)
        #expect(try await self.scenario.status(of: keys) == [.closed, .closed, .open])
        #expect(try await self.store.batches(of: self.scenario.message(of: keys[2]).id).map(\.key) == [keys[2]])
        #expect(try await self.scenario.job(jobs[0]).state == .cancelled)
        #expect(try await self.scenario.job(jobs[1]).state == .expired)
        #expect(try await self.scenario.counts(jobs[0]) == DeliveryCounts())
    }

    /// A step that names a job of another message, as a send worker with a fault may, writes nothing of it.
    @Test func aStepWritesNothingOfAnotherMessagesJob() async throws {
        for user in ["ann", "bob"] { try await self.scenario.register(user: user, handle: "aa\(user)") }
        let (mine, _) = try await self.scenario.acceptGroup(["ann", "nobody"])
        let (other, theirs) = try await self.scenario.acceptGroup(["bob", "nobody"])
        let claim = try await self.claim(mine)
        var (step, _) = try await self.scenario.step(for: claim)
        let foreign = try await self.scenario.step(
            for: try #require(try await self.store.claim(other.id, peeking: true))
        )
        step.sends += foreign.step.sends
        let written = try await self.scenario.commit(step, of: claim).written
        #expect(written.lost == Set(foreign.step.sends.map(\.sequence)))
        #expect(try await self.scenario.status(of: foreign.keys) == [.closed])
        #expect(try await self.scenario.job(theirs[0]).state == .queued)
        #expect(try await self.scenario.jobs(of: other) == theirs)
    }

    @Test func aSendToManyDevicesLeavesItsGroup() async throws {
        let rows = try (0...SmallSend.maximumDevices).map {
            ImportedRegistration(
                pns: .apns,
                handle: Handle(stored: "aa\($0)"),
                user: try UserName("ann", .folded),
                tags: []
            )
        }
        let sequence = try await self.store.beginImport()
        _ = try await self.store.importRegistrations(rows, app: .default, sequence: sequence, lifetime: nil)
        let (message, jobs) = try await self.scenario.acceptGroup(["ann", "nobody"])
        let claim = try await self.claim(message)
        #expect(try await self.scenario.sends(of: claim).map(\.audience) == [.large, .all([])])
        let (step, _) = try await self.scenario.step(for: claim)
        let written = try await self.scenario.commit(step, of: claim).written
        let alone = try #require(written.ownMessages.first)
        #expect(written.ownMessages.count == 1)
        #expect(written.isDone && alone.id != message.id)
        let campaign = try await self.claim(alone)
        guard case .campaign(let work) = campaign.work else { throw Unexpected("\(campaign)") }
        #expect(work.job.id == jobs[0])
        #expect(work.cursors.allSatisfy { $0.after == 0 && !$0.isDone })
        #expect(try await self.store.claim(message.id, peeking: false) == nil)
    }

    // MARK: Deliveries

    @Test func aDeferredDeliveryWaitsWithItsOpenBatches() async throws {
        for user in ["ann", "bob"] { try await self.scenario.register(user: user, handle: "aa\(user)") }
        let (message, jobs) = try await self.scenario.acceptGroup(["ann", "bob"])
        let (keys, deliveries) = try await self.scenario.fanOut(group: message)
        let delivery = try #require(deliveries.first)
        #expect(try await self.scenario.record(BatchOutcome(key: keys[0], accepted: 1, at: self.time.wall)))
        #expect(try await self.scenario.deferBatch(keys[1], for: .seconds(5)))
        // Its send worker says too late that it was published.
        try await self.store.markPublished([delivery])
        #expect(try await self.inFlight() > 0)
        let job = try await self.scenario.job(jobs[1])
        #expect(job.state == .retrying)
        #expect(job.reason == "slow")
        #expect(try await self.scenario.takeDueBatches().isEmpty)
        self.time.advance(.seconds(5))
        #expect(try await self.scenario.takeDueBatches().map(\.key) == [keys[1]])
    }

    /// The send worker died between its commit and the broker, or the message was lost.
    @Test func aDeliveryWithALapsedLeaseIsTakenWithItsOpenBatches() async throws {
        for user in ["ann", "bob"] { try await self.scenario.register(user: user, handle: "aa\(user)") }
        let (message, jobs) = try await self.scenario.acceptGroup(["ann", "bob"])
        let claim = try await self.claim(message)
        let (step, keys) = try await self.scenario.step(for: claim)
        let through = try await self.scenario.sends(of: claim).map(\.through)
        let written = try await self.scenario.commit(step, of: claim, keys: keys).written
        try await self.store.markPublished(written.deliveries.compactMap { $0 })
        #expect(try await self.scenario.record(BatchOutcome(key: keys[0], accepted: 1, at: self.time.wall)))
        self.time.advance(WorkQueue.deliver(.apns).lease)
        let due = try await self.scenario.takeDueBatches()
        #expect(due.map(\.key) == [keys[1]])
        #expect(due.map(\.from) == [0])
        #expect(due.map(\.to) == [through[1]])
        #expect(due.map(\.retries) == [[]])
        #expect(due.first?.job.id == jobs[1])
        #expect(try await self.scenario.record(BatchOutcome(key: keys[1], accepted: 1, at: self.time.wall)))
        for id in jobs { #expect(try await self.scenario.job(id).state == .completed) }
        #expect(try await self.inFlight() == 0)
    }

    @Test func aCancelledSendIsCountedByItsWorkerOrAfterTwoLeases() async throws {
        for user in ["ann", "bob"] { try await self.scenario.register(user: user, handle: "aa\(user)") }
        let (message, jobs) = try await self.scenario.acceptGroup(["ann", "bob"])
        let (keys, _) = try await self.scenario.fanOut(group: message)
        for id in jobs { _ = try await self.store.cancel(id, app: .default) }
        #expect(try await self.scenario.status(of: [keys[0]]) == [.stopping(.cancelled)])
        #expect(try await self.scenario.record(BatchOutcome(key: keys[0], cancelled: 1, at: self.time.wall)))
        #expect(try await self.scenario.job(jobs[0]).state == .cancelled)
        #expect(try await self.scenario.job(jobs[1]).state == .cancelling)
        self.time.advance(Scenario.closedAfterStop)
        try await self.scenario.expireJobs()
        #expect(try await self.scenario.job(jobs[1]).state == .cancelled)
        #expect(try await self.scenario.counts(jobs[1]).cancelled == 1)
        #expect(try await self.inFlight() == 0)
    }
}
