import NIOConcurrencyHelpers
import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// What becomes of a group of outcomes, all of which are written by the same statements.
@Suite(.enabled(if: TestServer.isThere), .undisturbed) struct OutcomeTests {
    private let keep: StoreAdministration
    private var store: PostgreSQLStore { self.keep.engine }

    init() throws { self.keep = try StoreAdministration(StoreOptions()) }

    /// Each kind of outcome beside the others, of batches in either form.
    @Test(arguments: [true, false]) func eachOutcomeOfAGroupHasItsOwnEffect(isInline: Bool) async throws {
        if isInline {
            try await self.keep.insertSmallSends(1...5)
        } else {
            try await self.keep.insertCampaigns(1...5, pages: 1)
        }
        let at = self.keep.time.wall
        let failures = [
            DeviceFailure(row: 7, failure: .unregistered, status: 410, reason: String(repeating: "x", count: 300)),
            DeviceFailure(row: 8, failure: .rejected, status: 400, reason: "BadTopic\0"),
        ]
        let dead = DeadHandle(row: 7, handle: Handle(stored: "aa"), before: at, reason: "Unregistered")
        let other = DeadHandle(
            row: 7,
            handle: Handle(stored: "aa"),
            before: at.advanced(by: .seconds(1)),
            reason: "Gone"
        )
        let named = DeadHandle(
            row: 9,
            handle: Handle(stored: "bb"),
            credential: try CredentialName("blue"),
            before: at,
            reason: "Gone"
        )
        func key(_ job: Int64) -> BatchKey { StoreAdministration.key(job) }
        let outcomes = [
            BatchOutcome(key: key(1), accepted: 3, acceptedRows: [1, 2, 3], at: at),
            BatchOutcome(key: key(2), accepted: 1, failures: failures, deadHandles: [dead, other, named], at: at),
            BatchOutcome(
                key: key(3),
                accepted: 1,
                retries: [5, 6].map { RetryDevice(row: $0, tries: 1, wait: .seconds($0)) },
                retryReason: WaitReason(.service, at: .apns, "503"),
                at: at
            ),
            BatchOutcome(key: key(4), expired: 2, cancelled: 1, at: at), self.keep.accepted(key(5)),
        ]
        #expect(try await self.store.record(outcomes) == [true, true, true, true, true])
        #expect(try await self.store.record(outcomes) == [false, false, false, false, false])
        #expect(try await self.keep.number("SELECT count(*) FROM job WHERE state = \(Job.State.completed.number)") == 4)
        let listed = try await self.store.rows("SELECT job, \"row\", class, reason FROM delivery ORDER BY job, \"row\"")
        #expect(try listed.map { try $0["row"] as Int } == [1, 2, 3, 7, 8])
        #expect(try listed.map { try $0["class"] as Int } == [1, 1, 1, 10, 11])
        #expect(try (listed[3]["reason"] as String).count == 200)
        let marks = try await self.store.rows(
            "SELECT \"row\", before, reason, credential.name FROM dead_handle LEFT JOIN credential ON number = credential ORDER BY 1"
        )
        #expect(try marks.map { try $0["row"] as Int } == [7, 9])
        #expect(try marks.map { try $0["name"] as String? } == [nil, "blue"])
        #expect(try marks[0]["before"] as Timestamp == other.before)
        let next = try #require(try await self.store.rows("SELECT * FROM batch WHERE open = 1").first)
        #expect(try next["attempt"] as Int == 1)
        #expect(try next["size"] as Int == 2)
        #expect(try next["retry_reason"] as String? == WaitReason(.service, at: .apns, "503").storedText)
        #expect(try RetryList.decode(next["retries"]).map(\.row) == [5, 6])
        let message = try #require(try await self.store.rows("SELECT * FROM message").first)
        #expect(try message["id"] as Int64 == next["message"])
        #expect(try message["open"] as Int == 1)
        #expect(try message["due"] as Int64 == next["due"])
        #expect(try message["due"] as Int64 == self.store.clock.now + 5000)
        let last = BatchOutcome(key: BatchKey(job: key(3).job, pns: .apns, page: 0, attempt: 1), accepted: 2, at: at)
        #expect(try await self.store.record([last]) == [true])
        #expect(try await self.keep.unfinished() == [:])
        let counted: [DeliveryCountClass: Int] = [
            .targets: 15, .accepted: 10, .expired: 2, .cancelled: 1, .failed(.unregistered): 1, .failed(.rejected): 1,
        ]
        for (kind, count) in counted { #expect(try await self.keep.counted(kind) == count, "\(kind)") }
    }

    @Test func anOutcomeOfOtherDevicesThanItsAttemptIsRefusedWithItsGroup() async throws {
        try await self.keep.insertCampaigns(1...2, pages: 1)
        try await self.keep.run("UPDATE batch SET attempt = 1 WHERE job = 2")
        let short = BatchOutcome(
            key: BatchKey(job: StoreAdministration.job(2), pns: .apns, page: 0, attempt: 1),
            accepted: 2,
            at: self.keep.time.wall
        )
        let whole = self.keep.accepted(StoreAdministration.key(1))
        await #expect(throws: StoreError.self) { try await self.store.record([whole, short]) }
        #expect(try await self.keep.number("SELECT count(*) FROM outcome") == 0)
        #expect(try await self.store.record([whole]) == [true])
    }

    /// Where the hint holds, nothing is read before; a group is some statements however large it is.
    @Test func aGroupOfSmallSendsIsOneRoundTrip() async throws {
        try await self.keep.insertSmallSends(1...300)
        let outcomes = (1...300).map { job in
            self.keep.accepted(
                StoreAdministration.key(job),
                hint: RowHint(job: job, message: MessageID(number: 1))
            )
        }
        let recording = OutcomeRecording(
            outcomes: outcomes,
            trustsHints: true,
            clock: self.store.clock,
            handles: self.store.handles
        )
        #expect(recording.reads.isEmpty)
        #expect(try recording.decide([]).writes.count == 4)
        #expect(try await self.store.record(outcomes).allSatisfy { $0 })
        #expect(try await self.keep.unfinished() == [:])
        #expect(try await self.keep.counted(.accepted) == 900)
    }

    /// An outcome is never told to be recorded before when it was this one: also where connections are cut at any byte.
    @Test func aLostAnswerTakesNoOutcomeAway() async throws {
        let port = try #require(Int(try TestServer.ports()[0]))
        let proxy = try CuttingProxy(before: port)
        defer { proxy.end() }
        let store = try PostgreSQLStore(
            TestServer.plainAddresses([proxy.port], schema: self.keep.schema),
            clock: self.store.clock
        )
        let jobs = 1...240 as ClosedRange<Int64>
        try await self.keep.insertSmallSends(jobs)
        proxy.cut {
            let byte = Int.random(in: 0..<24_000)
            return Bool.random() ? CuttingProxy.Fate(sent: byte) : CuttingProxy.Fate(answered: byte / 4)
        }
        let keep = self.keep
        try await withThrowingTaskGroup(of: Void.self) { group in
            for caller in 0..<4 as Range<Int64> {
                group.addTask {
                    for first in stride(from: jobs.lowerBound + caller * 3, through: jobs.upperBound, by: 12) {
                        let hint = RowHint(job: first, message: MessageID(number: 1))
                        let outcomes = [
                            keep.accepted(StoreAdministration.key(first), hint: hint),
                            keep.accepted(StoreAdministration.key(first + 1)),
                            BatchOutcome(
                                key: StoreAdministration.key(first + 2),
                                accepted: 2,
                                expired: 1,
                                at: keep.time.wall
                            ),
                        ]
                        var recorded: [Bool]?
                        while recorded == nil {
                            do { recorded = try await store.record(outcomes) } catch let error as StoreError {
                                // Nothing was written then.
                                #expect(error.code == .unavailable)
                            }
                        }
                        #expect(recorded == [true, true, true])
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(proxy.cuts > 10)
        #expect(try await self.keep.unfinished() == [:])
        #expect(try await self.keep.counted(.accepted) == 8 * 80)
    }

    /// A rare mixture of ends and outcomes is counted for the backlog once each, whoever has ended a job before.
    @Test func aJobThatIsEndedTwiceCountsOnce() async throws {
        try await self.keep.insertCampaigns(1...2, pages: 1)
        try await self.keep.run("UPDATE batch SET open = 0", "DELETE FROM message")
        let completion = JobCompletion.completion(of: [1, 2], clock: self.store.clock)
        #expect(try await self.store.end(completion) == 2)
        #expect(try await self.store.end(completion) == 0)
        #expect(try await self.keep.unfinished() == [:])
    }
}
