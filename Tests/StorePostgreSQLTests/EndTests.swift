import PushModel
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// Jobs end over PostgreSQL by the statements by which they do in SQLite, whose results the contract's suites hold.
@Suite(.enabled(if: TestServer.isThere), .undisturbed) struct EndTests {
    private let keep: StoreAdministration
    private var engine: PostgreSQLStore { self.keep.engine }

    init() throws { self.keep = try StoreAdministration(StoreOptions()) }

    @Test func aCancelledJobEndsWithItsBatches() async throws {
        try await self.keep.insert(1, message: 1)
        try await self.keep.insertMessage(.deliver(.apns), members: 1, jobs: 1...1)
        try await self.keep.run(
            "UPDATE job SET fanned_out = 1, inline_pns = \(PushService.apns.number), inline_to = 9, inline_size = 3"
        )
        #expect(try await self.engine.end(JobStops.stop("\(numbers: [1])", .cancel, clock: self.engine.clock)) == 1)
        #expect(try await self.keep.number("SELECT state FROM job") == Job.State.cancelled.number)
        #expect(try await self.keep.number("SELECT cancelled FROM outcome") == 3)
        let cancelled = try await self.keep.number(
            "SELECT CAST(sum(count) AS BIGINT) FROM delivery_count WHERE class = 3"
        )
        #expect(cancelled == 3)
        #expect(try await self.keep.number("SELECT count(*) FROM message") == 0)
        #expect(try await self.keep.number("SELECT CAST(sum(unfinished) AS bigint) FROM backlog") == 0)
        #expect(try await self.engine.end(JobStops.stop("\(numbers: [1])", .cancel, clock: self.engine.clock)) == 0)
    }

    @Test func aDeadBatchIsCountedOnce() async throws {
        try await self.keep.insert(1, message: 0)
        try await self.keep.insertMessage(.deliver(.apns), members: 1, jobs: 1...1)
        try await self.keep.run(
            "UPDATE job SET fanned_out = 1, message = NULL",
            "INSERT INTO batch(job, pns, page, attempt, from_id, to_id, size, open, message) VALUES (1, 1, 0, 0, 0, 9, 3, 1, 1)"
        )
        for _ in 0..<2 { try await self.keep.deadLetter(1) }
        let dead = try await self.keep.number("SELECT count(*) FROM dead WHERE closed = 1 AND page = 0 AND number = 1")
        #expect(dead == 1)
        #expect(try await self.keep.number("SELECT state FROM job") == Job.State.completed.number)
        #expect(try await self.keep.number("SELECT failed FROM outcome") == 3)
        #expect(try await self.keep.number("SELECT CAST(sum(unfinished) AS bigint) FROM backlog") == 0)
    }

    @Test func aDeadMessageOfSeveralIsSplit() async throws {
        for job in 1...2 as ClosedRange<Int64> { try await self.keep.insert(job, nil, .queued, message: 1) }
        try await self.keep.insertMessage(.send, members: 2, jobs: 1...2)
        try await self.keep.deadLetter(1)
        #expect(try await self.keep.number("SELECT count(*) FROM message WHERE open = 1 AND id > 1") == 2)
        #expect(try await self.keep.number("SELECT count(*) FROM message") == 2)
        #expect(try await self.keep.number("SELECT count(DISTINCT message) FROM job WHERE message > 1") == 2)
        #expect(try await self.keep.number("SELECT CAST(sum(unfinished) AS bigint) FROM backlog") == 2)
        // And a member alone is abandoned.
        try await self.keep.deadLetter(2)
        #expect(try await self.keep.number("SELECT state FROM job WHERE message IS NULL") == Job.State.abandoned.number)
        #expect(try await self.keep.number("SELECT CAST(sum(unfinished) AS bigint) FROM backlog") == 1)
    }
}
