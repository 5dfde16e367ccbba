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
        let due = now + RetryList.leastWait(self.devices).milliseconds
        let message = NewMessage(
            queue: .deliver(try PushService(stored: self.batch.pns)),
            app: app,
            priority: priority,
            state: .ready,
            due: due,
            members: 1,
            size: self.devices.count
        )
        let values: [any SQLConvertible] = [
            self.job, self.batch.pns, self.batch.page, self.batch.attempt, self.rows.from, self.rows.to,
            self.devices.count,
            due, RetryList.encode(self.devices), self.reason?.storedText, self.reason?.cause?.rawValue,
        ]
        return [message.insertion, SQLStatement(Self.insertion, values)]
    }
}
