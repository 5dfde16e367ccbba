import Foundation
import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing

/// Jobs end over PostgreSQL by the statements by which they do in SQLite, whose results the contract's suites hold.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["PUSHLINE_TEST_POSTGRES"] != nil))
struct PostgreSQLEndTests {
    private let keep: PostgreSQLFixture
    private var engine: PostgreSQLEngine { self.keep.engine }

    init() throws { self.keep = try PostgreSQLFixture(StoreOptions()) }

    private func run(_ writes: SQLStatement...) async throws {
        try await self.engine.perform(SQLTransaction(SQLDecision(writing: writes) { _ in }))
    }

    /// The only value of a row.
    private func number(_ query: SQLStatement) async throws -> Int? {
        try await self.engine.rows("SELECT (\(query)) AS value").first?["value"]
    }

    /// A job, unfinished and the member of a message that has not been published.
    private func insert(_ job: Int64, _ kind: JobKind = .send, _ state: Job.State = .running, message: Int64)
        async throws
    {
        try await self.run(
            "INSERT INTO app(name) VALUES ('one') ON CONFLICT DO NOTHING",
            """
            INSERT INTO job(sequence, id, app, kind, priority, platforms, state, work, message, expires, ends, accepted, fanned_out)
            SELECT \(job), \(JobID.make()), number, \(kind.number), 1, 0, \(state.number), '{}', \(message), 100, 100, 1, 0 FROM app
            """,
            "UPDATE backlog SET unfinished = unfinished + 1"
        )
    }

    private func insertMessage(_ queue: WorkQueue, members: Int, jobs: ClosedRange<Int64>) async throws {
        try await self.run(
            """
            INSERT INTO message(app, queue, priority, state, due, open, size, first, last)
            SELECT number, \(queue.number), 1, 0, 1, \(members), 3, \(jobs.lowerBound), \(jobs.upperBound) FROM app
            """
        )
    }

    private func deadLetter(_ message: Int64) async throws {
        try await self.engine.deadLetter(
            IncomingDeadLetter(
                queue: "q",
                type: "deliver",
                messageID: MessageID(number: message).description,
                app: nil,
                reason: "rejected",
                body: []
            )
        )
    }

    @Test func aCancelledJobEndsWithItsBatches() async throws {
        try await self.insert(1, message: 1)
        try await self.insertMessage(.deliver(.apns), members: 1, jobs: 1...1)
        try await self.run(
            "UPDATE job SET fanned_out = 1, inline_pns = \(PushService.apns.number), inline_to = 9, inline_size = 3"
        )
        #expect(try await self.engine.end(JobStops.stop("\(numbers: [1])", .cancel, clock: self.engine.clock)) == 1)
        #expect(try await self.number("SELECT state FROM job") == Job.State.cancelled.number)
        #expect(try await self.number("SELECT cancelled FROM outcome") == 3)
        #expect(try await self.number("SELECT CAST(sum(count) AS BIGINT) FROM delivery_count WHERE class = 3") == 3)
        #expect(try await self.number("SELECT count(*) FROM message") == 0)
        #expect(try await self.number("SELECT unfinished FROM backlog") == 0)
        #expect(try await self.engine.end(JobStops.stop("\(numbers: [1])", .cancel, clock: self.engine.clock)) == 0)
    }

    @Test func aDeadBatchIsCountedOnce() async throws {
        try await self.insert(1, message: 0)
        try await self.insertMessage(.deliver(.apns), members: 1, jobs: 1...1)
        try await self.run(
            "UPDATE job SET fanned_out = 1, message = NULL",
            "INSERT INTO batch(job, pns, page, attempt, from_id, to_id, size, open, message) VALUES (1, 1, 0, 0, 0, 9, 3, 1, 1)"
        )
        for _ in 0..<2 { try await self.deadLetter(1) }
        #expect(try await self.number("SELECT count(*) FROM dead WHERE closed = 1 AND page = 0 AND number = 1") == 1)
        #expect(try await self.number("SELECT state FROM job") == Job.State.completed.number)
        #expect(try await self.number("SELECT failed FROM outcome") == 3)
        #expect(try await self.number("SELECT unfinished FROM backlog") == 0)
    }

    @Test func aDeadMessageOfSeveralIsSplit() async throws {
        for job in 1...2 as ClosedRange<Int64> { try await self.insert(job, .send, .queued, message: 1) }
        try await self.insertMessage(.send, members: 2, jobs: 1...2)
        try await self.deadLetter(1)
        #expect(try await self.number("SELECT count(*) FROM message WHERE open = 1 AND id > 1") == 2)
        #expect(try await self.number("SELECT count(*) FROM message") == 2)
        #expect(try await self.number("SELECT count(DISTINCT message) FROM job WHERE message > 1") == 2)
        #expect(try await self.number("SELECT unfinished FROM backlog") == 2)
        // And a member alone is abandoned.
        try await self.deadLetter(2)
        #expect(try await self.number("SELECT state FROM job WHERE message IS NULL") == Job.State.abandoned.number)
        #expect(try await self.number("SELECT unfinished FROM backlog") == 1)
    }
}
