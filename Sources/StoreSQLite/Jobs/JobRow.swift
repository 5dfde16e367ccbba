import Foundation
import PushModel
import Store
import StoreKit

extension JobRow {
    static let columns = """
        job.sequence, job.id, app.name AS app, job.user, job.user_shown, job.key, job.priority, job.work, job.state,
        job.result, job.reason, job.accepted, job.started, job.finished, job.expires, job.fanned_out, job.waiter, job.starts_at,
        job.message, job.label
        """
    /// The column of the send's text.
    static let workColumn = "work"
    /// The column of a register job's result.
    static let resultColumn = "result"
    static let source = "job JOIN app ON app.number = job.app"

    init(_ row: Row) throws {
        let job = Job(
            id: try JobID(blob: row["id"]),
            sequence: row["sequence"],
            app: try AppID(stored: row["app"]),
            user: try (row["user"] as String?).map { try UserName(stored: $0, shown: row["user_shown"]) },
            key: row["key"],
            priority: try Priority(number: row["priority"]),
            work: try StoredJSON.work(from: Array((row[Self.workColumn] as String).utf8)),
            state: try Job.State(number: row["state"]),
            result: try (row[Self.resultColumn] as String?).map { try StoredJSON.value(RegisterResult.self, from: $0) },
            reason: row["reason"],
            accepted: Timestamp(milliseconds: row["accepted"]),
            started: (row["started"] as Int64?).map(Timestamp.init(milliseconds:)),
            finished: (row["finished"] as Int64?).map(Timestamp.init(milliseconds:)),
            expires: Timestamp(milliseconds: row["expires"]),
            startsAt: (row["starts_at"] as Int64?).map(Timestamp.init(milliseconds:)),
            label: try (row["label"] as String?).map { try JobLabel(stored: $0) }
        )
        self.init(plain: job, isFannedOut: row["fanned_out"], waiter: row["waiter"], message: row["message"])
    }

    /// The job for display.
    ///
    /// - Parameters:
    ///   - database: The connection, for counts and open batches.
    ///   - clock: Converts the time of the next retry.
    ///   - unwritten: Counts not yet in the table.
    /// - Returns: The job with its counts.
    /// - Throws: ``StoreError`` for a corrupt row; SQLite's error.
    func job(in database: Database, clock: StoreClock, unwritten: [UnwrittenCount] = []) throws -> Job {
        try self.job(reading: JobReader(database: database, row: self, unwritten: unwritten), clock: clock)
    }
}

/// Devices of a job that are counted, and not in the table yet.
typealias UnwrittenCount = (pns: Int, kind: DeliveryCountClass, count: Int)

/// Reads what belongs to a job.
struct JobReader: JobSource {
    let database: Database
    let row: JobRow
    let unwritten: [UnwrittenCount]
    private var job: Int64 { self.row.plain.sequence }

    init(database: Database, row: JobRow, unwritten: [UnwrittenCount] = []) {
        (self.database, self.row, self.unwritten) = (database, row, unwritten)
    }

    func counts() throws -> [PushService: DeliveryCounts] {
        var counts: [PushService: DeliveryCounts] = [:]
        let written = try self.database.all("SELECT pns, class, count FROM job_counts WHERE job = ?", [self.job]) {
            (pns: $0["pns"] as Int, kind: try DeliveryCountClass(number: $0["class"]), count: $0["count"] as Int)
        }
        for (pns, kind, count) in written + self.unwritten {
            counts[try PushService(stored: pns), default: DeliveryCounts()].add(count, of: kind)
        }
        return counts
    }

    func platformCounts() throws -> [String: DeliveryCounts] {
        var counts: [String: DeliveryCounts] = [:]
        let rows = try self.database.all("SELECT platform, class, count FROM platform_count WHERE job = ?", [self.job])
        {
            (
                platform: $0["platform"] as String, kind: try DeliveryCountClass(number: $0["class"]),
                count: $0["count"] as Int
            )
        }
        for row in rows { counts[row.platform, default: DeliveryCounts()].add(row.count, of: row.kind) }
        return counts
    }

    func cursors() throws -> [PushService: FanOutCursor] {
        let cursors = try self.database.all(
            "SELECT pns, after, through, done, devices FROM cursor WHERE job = ?",
            [self.job]
        ) { row in
            (
                try PushService(stored: row["pns"]),
                FanOutCursor(
                    after: row["after"],
                    through: row["through"],
                    isDone: row["done"],
                    devices: row["devices"]
                )
            )
        }
        return Dictionary(uniqueKeysWithValues: cursors)
    }

    func deferral() throws -> JobWaiting? {
        try self.database.first(
            "SELECT due, reason, cause FROM message WHERE id = ? AND \(Self.isDeferred) AND reason IS NOT NULL",
            [self.row.message],
            read: JobWaiting.init
        )
    }

    func isInFlight() throws -> Bool { try self.database.exists(Self.inFlight, [self.job]) }

    func firstWaiting() throws -> JobWaiting? {
        try self.database.first(Self.firstWaiting, [self.job], read: JobWaiting.init)
    }

    func reasonOfDeferred() throws -> WaitReason? {
        try self.database.first(Self.deferred, [self.job]) { WaitReason(text: $0["reason"], cause: $0["cause"]) } ?? nil
    }

    func pausedQueues() throws -> [WorkQueue] { try self.database.pausedQueues(of: self.row.plain.app) }

    func isOpen(at pns: PushService) throws -> Bool {
        let values: Database.Values = [self.job, pns.number]
        return try !self.row.isFannedOut
            && self.database.exists("SELECT 1 FROM cursor WHERE job = ? AND pns = ? AND done = 0", values)
            || self.database.exists(
                "SELECT 1 FROM message WHERE id = ? AND blocked_on & ? <> 0",
                [self.row.message, pns.bit]
            )
            || self.database.hasOpenBatch(self.job, at: pns)
    }

    private static let isDeferred = "message.state = \(MessageState.deferred.rawValue)"
    private static let isPublished = "message.state = \(MessageState.published.rawValue)"

    /// The messages of a job's open batches.
    private static let ofBatches = """
        FROM batch INDEXED BY batch_open JOIN message ON message.id = batch.message WHERE batch.job = ?1 AND batch.open = 1
        """

    /// The message of a job's inline batch.
    private static let ofInline = """
        FROM job JOIN message ON message.id = job.message WHERE job.sequence = ?1 AND \(BatchTable.isInline)
        """

    /// Whether a batch of a job is at the broker or at a worker.
    static let inFlight = """
        SELECT 1 \(Self.ofBatches) AND \(Self.isPublished)
        UNION ALL SELECT 1 \(Self.ofInline) AND \(Self.isPublished)
        """

    private static let deferred = """
        SELECT message.reason, message.cause \(Self.ofInline) AND \(Self.isDeferred)
        UNION ALL SELECT message.reason, message.cause \(Self.ofBatches) AND \(Self.isDeferred) LIMIT 1
        """

    private static let firstWaiting = """
        SELECT message.due, coalesce(message.reason, batch.retry_reason) AS reason,
            iif(message.reason IS NULL, retry_cause, cause) AS cause \(Self.ofBatches)
        UNION ALL SELECT message.due, message.reason, message.cause \(Self.ofInline)
        ORDER BY 1 LIMIT 1
        """
}

extension JobWaiting {
    /// Reads a message's columns.
    fileprivate init(_ row: Row) {
        self.init(due: row["due"], reason: WaitReason(text: row["reason"], cause: row["cause"]))
    }
}

extension Database {
    func jobRow(_ id: JobID, app: AppID? = nil) throws -> JobRow? {
        let row = try self.first(
            "SELECT \(JobRow.columns) FROM \(JobRow.source) WHERE job.id = ?",
            [id.blob],
            read: JobRow.init
        )
        return app == nil || row?.plain.app == app ? row : nil
    }

    func jobRow(sequence: Int64) throws -> JobRow? {
        try self.first(
            "SELECT \(JobRow.columns) FROM \(JobRow.source) WHERE job.sequence = ?",
            [sequence],
            read: JobRow.init
        )
    }
}

extension WriteContext {
    /// The job as it is at this point of the transaction.
    func job(_ row: JobRow) throws -> Job {
        try row.job(in: self.database, clock: self.clock, unwritten: self.unwritten(job: row.plain.sequence))
    }
}
