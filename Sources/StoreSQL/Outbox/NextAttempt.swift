package import PushModel
package import Store
import StoreKit

/// The next attempt of a batch, with a message of its own.
package struct NextAttempt {
    private let job: Int64
    private let batch: (pns: Int, page: Int, attempt: Int)
    private let rows: (from: Int64, to: Int64)
    private let devices: [RetryDevice]
    private let reason: WaitReason?

    /// - Parameters:
    ///   - job: The job's number.
    ///   - batch: The page and the new attempt.
    ///   - rows: The page's range.
    ///   - devices: The devices to retry, with waits from now on.
    ///   - reason: The reason of the retry.
    package init(
        of job: Int64,
        _ batch: (pns: Int, page: Int, attempt: Int),
        rows: (from: Int64, to: Int64),
        devices: [RetryDevice],
        reason: WaitReason?
    ) {
        (self.job, self.batch, self.rows, self.devices, self.reason) = (job, batch, rows, devices, reason)
    }

    private static let insertion = """
        INSERT INTO batch(
            job, pns, page, attempt, from_id, to_id, size, open, message, due, retries, retry_reason, retry_cause, template
        ) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1, \(NewMessage.number), ?8, ?9, ?10, ?11,
            (SELECT template FROM batch WHERE job = ?1 AND pns = ?2 AND page = ?3 AND attempt = CAST(?4 AS BIGINT) - 1))
        """

    /// - Returns: What writes them, one behind the other.
    package func writes(app: Int64, priority: Int, now: Int64) throws(StoreError) -> [SQLStatement] {
        let values: [any SQLConvertible] =
            self.numbers(now).map { $0 as any SQLConvertible } + [
                RetryList.encode(self.devices), self.reason?.storedText, self.reason?.cause?.rawValue,
            ]
        return [
            try self.message(app: app, priority: priority, now: now).insertion, SQLStatement(Self.insertion, values),
        ]
    }

    /// From when it is due.
    private func due(_ now: Int64) -> Int64 { now + RetryList.leastWait(self.devices).milliseconds }

    /// The first columns of its row.
    private func numbers(_ now: Int64) -> [Int64] {
        [
            self.job, Int64(self.batch.pns), Int64(self.batch.page), Int64(self.batch.attempt), self.rows.from,
            self.rows.to, Int64(self.devices.count), self.due(now),
        ]
    }

    private func message(app: Int64, priority: Int, now: Int64) throws(StoreError) -> NewMessage {
        NewMessage(
            queue: .deliver(try PushService(stored: self.batch.pns)),
            app: app,
            priority: priority,
            state: .ready,
            due: self.due(now),
            members: 1,
            size: self.devices.count
        )
    }

    /// Writes some in one statement, which PostgreSQL alone reads.
    ///
    /// - Returns: The statement; none where there is nothing to write.
    package static func writes(
        _ attempts: [(attempt: NextAttempt, app: Int64, priority: Int)],
        now: Int64
    ) throws(StoreError) -> [SQLStatement] {
        guard !attempts.isEmpty else { return [] }
        var (batches, messages): ([[Int64]], [[Int64]]) = ([], [])
        for (attempt, app, priority) in attempts {
            batches.append(attempt.numbers(now))
            messages.append(try attempt.message(app: app, priority: priority, now: now).values)
        }
        func columns(_ rows: [[Int64]]) -> SQLStatement {
            let columns = rows[0].indices.map { column in SQLArray.integers(rows.map { $0[column] }) }
            return SQLStatement(joining: columns.map { "\($0)" }, with: ", ")
        }
        let retries = SQLArray.byteStrings(attempts.map { RetryList.encode($0.attempt.devices) })
        let reasons = SQLArray.texts(attempts.map { $0.attempt.reason?.storedText })
        let causes = SQLArray.texts(attempts.map { $0.attempt.reason?.cause?.rawValue })
        // The number is taken once, though both read it.
        return [
            """
            WITH next AS (
                SELECT nextval('message_number') AS id, new.* FROM unnest(\(columns(messages)), \(columns(batches)), \(retries), \(reasons),
                    \(causes)) AS new(app, queue, priority, state, due, open, size, first, last, redeliveries,
                    job, pns, page, attempt, from_id, to_id, devices, waits_from, retries, reason, cause)
            ), own AS (
                INSERT INTO message(id, app, queue, priority, state, due, open, size, first, last, redeliveries)
                SELECT id, app, queue, priority, state, due, open, size, first, last, redeliveries FROM next
            )
            INSERT INTO batch(job, pns, page, attempt, from_id, to_id, size, open, message, due, retries, retry_reason, retry_cause, template)
            SELECT job, pns, page, attempt, from_id, to_id, devices, 1, id, waits_from, retries, reason, cause, (
                SELECT before.template FROM batch AS before WHERE before.job = next.job AND before.pns = next.pns
                    AND before.page = next.page AND before.attempt = next.attempt - 1) FROM next
            """
        ]
    }
}
