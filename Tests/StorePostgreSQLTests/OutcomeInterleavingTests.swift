import NIOConcurrencyHelpers
import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// Outcomes beside others that change the same jobs, both of which have read before either writes.
@Suite(.enabled(if: TestServer.isThere), .undisturbed) struct OutcomeInterleavingTests {
    private let stores: TwoStores
    private var keep: StoreAdministration { self.stores.fixture }

    init() throws { self.stores = try TwoStores() }

    private func state() async throws -> Job.State {
        try Job.State(number: try await self.keep.number("SELECT state FROM job") ?? -1)
    }

    /// Neither has seen the other's batch closed when it closed its own.
    @Test func theLastTwoOutcomesOfAJobEndIt() async throws {
        try await self.keep.insertCampaigns(1...1, pages: 2)
        let release = try self.stores.hold("message")
        async let one = self.stores.first.record([self.keep.accepted(StoreAdministration.key(1, page: 0))])
        async let other = self.stores.second.record([self.keep.accepted(StoreAdministration.key(1, page: 1))])
        try await release()
        #expect(try await one + other == [true, true])
        #expect(try await self.state() == .completed)
        #expect(try await self.keep.unfinished() == [:])
        #expect(try await self.keep.counted(.accepted) == 6)
    }

    /// Exactly one completion for each of a thousand jobs, whose last outcomes come over eight connections at once.
    @Test func aThousandJobsEndOnceEach() async throws {
        let (jobs, pages) = (1...1000 as ClosedRange<Int64>, 8)
        try await self.keep.insertCampaigns(jobs, pages: pages)
        let others = try (0..<2).map { _ in try self.keep.anotherEngine() }
        let stores = [self.stores.first, self.stores.second] + others
        let keep = self.keep
        try await withThrowingTaskGroup(of: Void.self) { group in
            for page in 0..<pages {
                group.addTask {
                    // Each in another order.
                    let rest = Array(jobs).shuffled()
                    for start in stride(from: 0, to: rest.count, by: 25) {
                        let some = rest[start..<start + 25].map {
                            keep.accepted(StoreAdministration.key($0, page: page))
                        }
                        let areRecorded = try await stores[page % stores.count].record(some)
                        #expect(areRecorded.allSatisfy { $0 })
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await self.keep.unfinished() == [:])
        #expect(try await self.keep.counted(.accepted) == 3 * 8 * 1000)
    }

    enum Form: CaseIterable { case inline, row }

    @Test(arguments: Form.allCases, [true, false])
    func anOutcomeThatComesTwiceAtOnceCountsOnce(form: Form, isHinted: Bool) async throws {
        switch form {
        case .inline: try await self.keep.insertSmallSends(1...1)
        case .row: try await self.keep.insertCampaigns(1...1, pages: 1)
        }
        let hint = isHinted ? RowHint(job: 1, message: MessageID(number: 1)) : nil
        let outcome = self.keep.accepted(StoreAdministration.key(1), hint: hint)
        let release = try self.stores.hold(form == .inline ? "job" : "batch")
        async let one = self.stores.first.record([outcome])
        async let other = self.stores.second.record([outcome])
        try await release()
        #expect(try await (one + other).filter(\.self).count == 1)
        #expect(try await self.state() == .completed)
        #expect(try await self.keep.unfinished() == [:])
        #expect(try await self.keep.counted(.accepted) == 3)
    }

    /// One that was recorded before drops itself alone.
    @Test func anOutcomeThatIsLateTakesNoOtherWithIt() async throws {
        try await self.keep.insertSmallSends(1...3)
        func hinted(_ job: Int64) -> BatchOutcome {
            self.keep.accepted(StoreAdministration.key(job), hint: RowHint(job: job, message: MessageID(number: 1)))
        }
        #expect(try await self.stores.first.record([hinted(2)]) == [true])
        #expect(
            try await self.stores.second.record([hinted(1), hinted(2), hinted(3), hinted(3)]) == [
                true, false, true, false,
            ]
        )
        #expect(try await self.keep.unfinished() == [:])
        #expect(try await self.keep.counted(.accepted) == 9)
    }

    private func retry(_ key: BatchKey) -> BatchOutcome {
        BatchOutcome(
            key: key,
            accepted: 2,
            retries: [RetryDevice(row: 3, tries: 1, wait: .seconds(9))],
            at: self.keep.time.wall
        )
    }

    private func cancel(_ store: PostgreSQLStore) async throws -> Int {
        try await store.end(JobStops.stop("\(numbers: [1])", .cancel, clock: store.clock))
    }

    /// Whichever is first, the device that was to be tried again is cancelled, and the job ends.
    @Test func anOutcomeBesideACancelOfASmallSend() async throws {
        try await self.keep.insertSmallSends(1...1)
        let release = try self.stores.hold("job")
        async let recorded = self.stores.first.record([self.retry(StoreAdministration.key(1))])
        async let cancelled = self.cancel(self.stores.second)
        try await release()
        #expect(try await recorded == [true])
        #expect(try await cancelled == 1)
        #expect(try await self.state() == .cancelled)
        #expect(try await self.keep.unfinished() == [:])
        #expect(try await self.keep.counted(.cancelled) == 1)
    }

    /// The cancel comes behind the look at the job's state: the next attempt is cancelled by its worker.
    @Test func aCancelBesideANextAttempt() async throws {
        try await self.keep.insertCampaigns(1...1, pages: 1)
        let key = StoreAdministration.key(1)
        let gate = try self.stores.gate("batch")
        async let recorded = self.stores.first.record([self.retry(key)])
        try await gate.wait(for: 1)
        #expect(try await self.cancel(self.stores.second) == 1)
        try gate.open()
        #expect(try await recorded == [true])
        #expect(try await self.state() == .cancelling)
        let next = BatchKey(job: key.job, pns: key.pns, page: 0, attempt: 1)
        #expect(try await self.stores.second.status(of: [next], in: nil).map(\.status) == [.stopping(.cancelled)])
        let outcome = BatchOutcome(key: next, cancelled: 1, at: self.keep.time.wall)
        #expect(try await self.stores.second.record([outcome]) == [true])
        #expect(try await self.state() == .cancelled)
        #expect(try await self.keep.unfinished() == [:])
    }

    /// Neither has seen the other's batch closed.
    @Test func anOutcomeBesideADeadLetter() async throws {
        try await self.keep.insertCampaigns(1...1, pages: 2)
        let message = try #require(try await self.keep.number("SELECT message FROM batch WHERE page = 1"))
        let letter = IncomingDeadLetter(
            queue: "q",
            type: "deliver",
            messageID: MessageID(number: Int64(message)).description,
            app: nil,
            reason: "r",
            body: []
        )
        let release = try self.stores.hold("message")
        async let recorded = self.stores.first.record([self.keep.accepted(StoreAdministration.key(1, page: 0))])
        async let dead = self.stores.second.deadLetter(letter)
        try await release()
        #expect(try await recorded == [true])
        #expect(try await dead.count == 1)
        #expect(try await self.state() == .completed)
        #expect(try await self.keep.unfinished() == [:])
        #expect(try await self.keep.counted(.failed(.dead)) == 3)
    }

    /// Whoever dies between an outcome and the job's end leaves it to the sweep; two that sweep at once end it once.
    @Test func aJobThatNobodyEndedIsEndedByTheSweep() async throws {
        try await self.keep.insertCampaigns(1...3, pages: 1)
        try await self.keep.run(
            "UPDATE batch SET open = 0 WHERE job <> 2",
            "DELETE FROM message WHERE id NOT IN (SELECT message FROM batch WHERE open = 1)"
        )
        let release = try self.stores.hold("job")
        async let one = self.stores.first.completeClosedJobs(after: 0)
        async let other = self.stores.second.completeClosedJobs(after: 0)
        try await release()
        #expect(try await one.completed + other.completed == 2)
        #expect(try await one.mark == 0)
        #expect(try await self.keep.unfinished() == ["jobs": 1, "backlog": 1, "messages": 1, "batches": 1])
    }

    // MARK: Members of one message

    /// Each has seen the other's member open when its own left.
    @Test(arguments: [true, false]) func theLastTwoMembersTakeTheirMessageWithThem(isHinted: Bool) async throws {
        try await self.keep.insertSmallSends(1...2)
        let outcomes = ([1, 2] as [Int64]).map { job -> BatchOutcome in
            let hint = RowHint(job: job, message: MessageID(number: 1))
            return self.keep.accepted(StoreAdministration.key(job), hint: isHinted ? hint : nil)
        }
        let release = try self.stores.hold("message")
        async let one = self.stores.first.record([outcomes[0]])
        async let other = self.stores.second.record([outcomes[1]])
        try await release()
        #expect(try await one + other == [true, true])
        #expect(try await self.keep.unfinished() == [:])
        #expect(try await self.keep.counted(.accepted) == 6)
    }

    /// The same where one of them is stopped before it is sent.
    @Test func anOutcomeAndACancelTakeTheirMessageWithThem() async throws {
        try await self.keep.insertSmallSends(1...2)
        try await self.keep.run("UPDATE message SET state = \(raw: "\(MessageState.ready.rawValue)")")
        let outcome = self.keep.accepted(StoreAdministration.key(2))
        let release = try self.stores.hold("message")
        async let recorded = self.stores.first.record([outcome])
        async let cancelled = self.cancel(self.stores.second)
        try await release()
        #expect(try await recorded == [true])
        #expect(try await cancelled == 1)
        #expect(try await self.keep.unfinished() == [:])
        #expect(try await self.keep.counted(.accepted) == 3)
        #expect(try await self.keep.counted(.cancelled) == 3)
    }

    // MARK: Lists

    /// A device that is recorded later may have a lower number: a walk that has come further passes over it, and the next has it.
    @Test func aWalkHasWhatWasThereWhenItBegan() async throws {
        try await self.keep.insertCampaigns(1...1, pages: 2)
        let outcomes = (0...1).map { page in
            let failures = (1...3).map { row in
                DeviceFailure(row: Int64(3 * page + row), failure: .rejected, status: 400, reason: "r")
            }
            let key = StoreAdministration.key(1, page: page)
            return BatchOutcome(key: key, failures: failures, at: self.keep.time.wall)
        }
        let gate = try self.stores.gate("message WHERE id = (SELECT message FROM batch WHERE page = 0)")
        async let first = self.stores.first.record([outcomes[0]])
        // Its devices have their numbers.
        try await gate.wait(for: 1)
        #expect(try await self.stores.second.record([outcomes[1]]) == [true])
        var query = DeliveryQuery(job: StoreAdministration.job(1), app: .default, limit: 2)
        let page = try await self.stores.second.deliveries(query)
        #expect(page.items.map(\.row) == [4, 5])
        try gate.open()
        #expect(try await first == [true])
        query.cursor = page.cursor
        let rest = try await self.stores.second.deliveries(query)
        #expect(rest.items.map(\.row) == [6])
        // There is nothing from which it could be gone on.
        #expect(rest.cursor == nil)
        (query.cursor, query.limit) = (nil, 100)
        #expect(try await self.stores.second.deliveries(query).items.map(\.row) == [1, 2, 3, 4, 5, 6])
    }

    // MARK: Calls of hubs

    private func insertCalls(_ numbers: ClosedRange<Int64>) async throws {
        try await self.keep.insertCampaigns(1...1, pages: 1)
        try await self.keep.run(
            """
            INSERT INTO hub_call(job, pns, number, state, until, notification, telemetry, due)
            SELECT 1, \(PushService.apns.number), n, 'taken', 1, 'n-' || n, 'pending', 1
            FROM generate_series(CAST(\(numbers.lowerBound) AS bigint), \(numbers.upperBound)) AS n
            """
        )
    }

    /// Both have found all calls due.
    @Test func aCallIsTakenByOneOfTwo() async throws {
        try await self.insertCalls(1...4)
        let release = try self.stores.hold("hub_call")
        async let one = self.stores.first.takeHubCalls(limit: 10)
        async let other = self.stores.second.takeHubCalls(limit: 10)
        try await release()
        #expect(try await (one + other).map(\.key.number).sorted() == [1, 2, 3, 4])
    }

    /// A call does not begin behind the change that stops its job, though that was not to be seen when the job was read.
    @Test func aCallBesideACancelDoesNotBegin() async throws {
        try await self.keep.insertCampaigns(1...1, pages: 1)
        let key = HubCallKey(job: StoreAdministration.job(1), pns: .apns, number: 7)
        let gate = try self.stores.gate("backlog, message")
        async let cancelled = self.cancel(self.stores.first)
        // It has the job's row, and waits for the next.
        try await gate.wait(for: 1)
        async let begun = self.stores.second.beginHubCalls([key], lasting: .seconds(9), isWithdrawn: false)
        try await gate.wait(for: 2)
        try gate.open()
        #expect(try await cancelled == 1)
        #expect(try await begun == [.withdrawn])
    }
}
