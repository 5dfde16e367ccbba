import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing

@testable import StorePostgreSQL

/// Sends that run, as their fan-out would leave them: with batches of three devices in messages at the broker.
extension StoreAdministration {
    static let devices = 3

    /// The id of a send by its number.
    static func job(_ number: Int64) -> JobID { JobID(high: 0, low: UInt64(number)) }

    /// The first attempt of a page.
    static func key(_ job: Int64, page: Int = 0) -> BatchKey {
        BatchKey(job: self.job(job), pns: .apns, page: page, attempt: 0)
    }

    /// Small sends, each with its only batch in its row, and all in one message.
    func insertSmallSends(_ jobs: ClosedRange<Int64>) async throws {
        try await self.insertSends(jobs, inline: "\(PushService.apns.number), 9, \(Self.devices)", message: "1")
        try await self.run(
            """
            INSERT INTO message(id, app, queue, priority, state, due, open, size, first, last)
            SELECT nextval('message_number'), number, \(WorkQueue.deliver(.apns).number), 1, \(MessageState.published.rawValue), 1, \(jobs.count), 3,
                \(jobs.lowerBound), \(jobs.upperBound) FROM app
            """
        )
    }

    /// Campaigns that are fanned out, with so many pages, each in a message of its own.
    func insertCampaigns(_ jobs: ClosedRange<Int64>, pages: Int) async throws {
        try await self.insertSends(jobs, inline: "NULL, NULL, NULL", message: "NULL")
        try await self.run(
            """
            WITH new AS (
                SELECT job.sequence AS job, job.app, page, nextval('message_number') AS message
                FROM job CROSS JOIN generate_series(0, \(pages - 1)) AS page
                WHERE job.sequence BETWEEN \(jobs.lowerBound) AND \(jobs.upperBound)
            ), sent AS (
                INSERT INTO message(id, app, queue, priority, state, due, open, size, first, last)
                SELECT message, app, \(WorkQueue.deliver(.apns).number), 1, \(MessageState.published.rawValue), 1, 1, 3, 0, 0 FROM new)
            INSERT INTO batch(job, pns, page, attempt, from_id, to_id, size, open, message)
            SELECT job, \(PushService.apns.number), page, 0, 0, 9, \(Self.devices), 1, message FROM new
            """
        )
    }

    private func insertSends(_ jobs: ClosedRange<Int64>, inline: String, message: String) async throws {
        let send = SendRequest(
            audience: .tag(try Tag("news", .folded)),
            platforms: [],
            content: .message(.init(body: "b"))
        )
        let (work, ends) = (try StoredJSON.text(work: .send(send)), self.engine.clock.now + 86_400_000)
        try await self.run(
            "INSERT INTO app(name) VALUES ('default') ON CONFLICT DO NOTHING",
            """
            INSERT INTO job(sequence, id, app, kind, priority, platforms, state, work, expires, ends, accepted, started, fanned_out,
                inline_pns, inline_to, inline_size, message)
            SELECT n, decode(lpad(to_hex(n), 32, '0'), 'hex'), number, \(JobKind.send.number), 1, 0, \(Job.State.running.number), \(work),
                \(ends), \(ends), 1, 1, 1, \(raw: inline), \(raw: message)
            FROM generate_series(CAST(\(jobs.lowerBound) AS bigint), \(jobs.upperBound)) AS n CROSS JOIN app
            """,
            "UPDATE backlog SET unfinished = unfinished + \(jobs.count) WHERE slot = 0"
        )
    }

    /// An outcome with every device accepted.
    func accepted(_ key: BatchKey, hint: RowHint? = nil) -> BatchOutcome {
        BatchOutcome(key: key, hint: hint, accepted: Self.devices, at: self.time.wall)
    }

    /// What does not add up when all is over; empty = nothing.
    func unfinished() async throws -> [String: Int] {
        let checks: [String: SQLStatement] = [
            "jobs": "SELECT count(*) FROM job WHERE finished IS NULL",
            "backlog": "SELECT CAST(sum(unfinished) AS bigint) FROM backlog",
            "messages": "SELECT count(*) FROM message",
            "batches": "SELECT count(*) FROM batch WHERE open = 1",
            "targets": """
            SELECT CAST(coalesce(sum(CASE class WHEN 0 THEN count ELSE -count END), 0) AS bigint) FROM job_counts
            """,
        ]
        var wrong: [String: Int] = [:]
        for (name, query) in checks {
            let value = try await self.number(query)
            if value != 0 { wrong[name] = value }
        }
        return wrong
    }

    /// How many devices count as something.
    func counted(_ kind: DeliveryCountClass) async throws -> Int? {
        try await self.number(
            "SELECT CAST(coalesce(sum(count), 0) AS bigint) FROM job_counts WHERE class = \(kind.number)"
        )
    }
}
