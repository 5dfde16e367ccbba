import PushModel
import Store
import StoreKit

/// An open batch, in either form, as far as it may end without a worker.
///
/// Nearly all small sends have an inline one: it stands in columns of its job until anything becomes of it but that every device is
/// accepted, and is materialized before, which makes it a row like any other.
package struct OpenBatch: Sendable {
    /// What a batch's row and its outcome have in common.
    package struct Key: Hashable, Sendable {
        let job: Int64
        let pns: Int
        let page: Int
        let attempt: Int

        init(_ key: BatchKey, job: Int64) {
            (self.job, self.pns, self.page, self.attempt) = (job, key.pns.number, key.page, key.attempt)
        }

        init(_ row: SQLRow) throws {
            (self.job, self.pns) = (try row["job"], try row["pns"])
            (self.page, self.attempt) = (try row["page"], try row["attempt"])
        }

        /// Finds the row.
        var condition: SQLStatement {
            "job = \(self.job) AND pns = \(self.pns) AND page = \(self.page) AND attempt = \(self.attempt)"
        }
    }

    let key: Key
    let rows: (from: Int64, to: Int64)
    let size: Int
    let message: Int64
    /// How its message stands; nil = there is no such message, which is a fault: the batch ends with its job all the same.
    let messageState: MessageState?
    /// Of a later attempt its devices; of a first one all of its range are meant.
    let retries: [UInt8]?
    /// Of a later attempt, from when the waits of its devices count, by the store's clock.
    let due: Int64?
    /// Of the table `template`: of its range only those that have it are meant; nil = all.
    let template: Int64?
    /// That telemetry has apart from its service; nil = none.
    let platform: String?
    let isInline: Bool

    init(_ row: SQLRow) throws {
        self.key = try Key(row)
        self.rows = (try row["from_id"], try row["to_id"])
        (self.size, self.message, self.retries) = (try row["size"], try row["message"], try row["retries"])
        self.messageState = try (row["message_state"] as Int?).map { try MessageState(stored: $0) }
        (self.due, self.template) = (try row["due"], try row["template"])
        let hasOther = WrittenDevice.otherPlatforms[try PushService(stored: self.key.pns)] != nil
        self.platform = hasOther ? try row["platform"] : nil
        self.isInline = try row["is_inline"]
    }

    /// Whether a worker may have it; one whose message is lost may have been published before.
    var isPublished: Bool { self.messageState.map { $0 == .published } ?? true }

    // MARK: Reading

    /// The open batches of some jobs, by a query for their numbers.
    static func ofJobs(_ jobs: SQLStatement) -> SQLStatement {
        self.found("batch_open", "batch.job IN (\(jobs))", inline: "job.sequence IN (\(jobs))")
    }

    /// The open batches of a message.
    static func ofMessage(_ message: Int64) -> SQLStatement {
        self.found("batch_message", "batch.message = \(message)", inline: JobTable.isMember(of: message))
    }

    /// Of the table `template`: for which platform it was registered.
    package static let platform = SQLStatement.text(
        forSQLite: "template.content ->> 'platform'",
        forPostgreSQL: "\(SQLStatement.postgreSQLJSON("template.content")) ->> 'platform'"
    )

    // SQLite is told by which index open batches are found: it would go through all of a job's.
    private static func found(_ index: String, _ rows: SQLStatement, inline: SQLStatement) -> SQLStatement {
        """
        SELECT batch.job, batch.pns, batch.page, batch.attempt, batch.from_id, batch.to_id, batch.size, batch.message, batch.due,
            batch.retries, batch.template, \(raw: self.platform) AS platform, 0 AS is_inline, message.state AS message_state
        FROM batch INDEXED BY \(raw: index) LEFT JOIN message ON message.id = batch.message
            LEFT JOIN template ON template.number = batch.template
        WHERE batch.open = 1 AND \(rows)
        UNION ALL SELECT job.sequence, job.inline_pns, 0, 0, 0, job.inline_to, job.inline_size, job.message, NULL, NULL, NULL, NULL, 1,
            message.state
        FROM job LEFT JOIN message ON message.id = job.message WHERE \(raw: Self.isInline) AND \(inline)
        """
    }

    /// The calls of hubs that the open batches of some jobs have made.
    static func calls(ofJobs jobs: SQLStatement) -> SQLStatement {
        """
        SELECT present.job, present.pns, present.page, present.attempt, hub_call.number, hub_call.state, hub_call.until
        FROM (\(self.ofJobs(jobs))) AS present CROSS JOIN hub_call
        WHERE hub_call.job = present.job AND hub_call.pns = present.pns
            AND hub_call.number > present.from_id AND hub_call.number <= present.to_id
        """
    }

    /// The open inline batches among some jobs: a condition on `job`.
    package static let isInline = "inline_pns IS NOT NULL AND finished IS NULL"

    /// Makes the inline batch of a job a row.
    package static func materialization(of job: Int64) -> [SQLStatement] {
        self.materialization(where: "sequence = \(job)")
    }

    /// Makes the inline batches of the jobs rows that a condition finds.
    package static func materialization(where condition: SQLStatement) -> [SQLStatement] {
        [
            """
            INSERT INTO batch(job, pns, page, attempt, from_id, to_id, size, open, message)
            SELECT sequence, inline_pns, 0, 0, 0, inline_to, inline_size, 1, message FROM job
            WHERE \(condition) AND \(raw: self.isInline)
            """,
            """
            UPDATE job SET inline_pns = NULL, inline_to = NULL, inline_size = NULL, message = NULL
            WHERE \(condition) AND \(raw: self.isInline)
            """,
        ]
    }
}
