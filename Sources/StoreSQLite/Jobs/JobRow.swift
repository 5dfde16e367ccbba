import Foundation
import GRDB
import PushModel
import Store
import StoreKit

/// A row of the table `job`.
struct JobRow {
    static let columns = """
        job.sequence, job.id, app.name, job.user, job.key, job.priority, job.work, job.state, job.result, job.reason,
        job.accepted, job.started, job.finished, job.expires, job.fanned_out, job.waiter, job.starts_at, job.message, job.user_shown,
        job.label
        """
    /// The column of the send's text.
    static let work = 6
    /// The column of a register job's result.
    static let result = 8
    static let source = "job JOIN app ON app.number = job.app"

    let sequence: Int64
    let id: JobID
    let app: AppID
    let user: UserName?
    let key: String?
    let priority: Priority
    let work: Job.Work
    let state: Job.State
    let result: RegisterResult?
    let reason: String?
    let accepted: Timestamp
    let started: Timestamp?
    let finished: Timestamp?
    let expires: Timestamp
    let isFannedOut: Bool
    let waiter: String?
    let startsAt: Timestamp?
    let message: Int64?
    let label: JobLabel?

    init(_ row: Row) throws {
        self.sequence = row[0]
        self.id = try JobID(blob: row[1])
        self.app = try AppID(stored: row[2])
        self.user = try (row[3] as String?).map { try UserName(stored: $0, shown: row[18]) }
        self.key = row[4]
        self.priority = try Priority(number: row[5])
        self.work = try StoredJSON.work(from: Array((row[Self.work] as String).utf8))
        self.state = try Job.State(number: row[7])
        self.result = try (row[Self.result] as String?).map { try StoredJSON.value(RegisterResult.self, from: $0) }
        self.reason = row[9]
        self.accepted = Timestamp(milliseconds: row[10])
        self.started = (row[11] as Int64?).map(Timestamp.init(milliseconds:))
        self.finished = (row[12] as Int64?).map(Timestamp.init(milliseconds:))
        self.expires = Timestamp(milliseconds: row[13])
        self.isFannedOut = row[14]
        self.waiter = row[15]
        self.startsAt = (row[16] as Int64?).map(Timestamp.init(milliseconds:))
        self.message = row[17]
        self.label = try (row[19] as String?).map { try JobLabel(stored: $0) }
    }

    /// The job for display.
    ///
    /// - Parameters:
    ///   - database: The connection, for counts and open batches.
    ///   - clock: Converts the time of the next retry.
    ///   - unwritten: Counts not yet in the table.
    /// - Returns: The job with its counts; its state is retrying if all its open work waits.
    /// - Throws: ``StoreError`` for a corrupt row; SQLite's error.
    func job(
        in database: Database,
        clock: StoreClock,
        unwritten: [(pns: Int, kind: DeliveryCountClass, count: Int)] = []
    ) throws -> Job {
        let waiting = try self.waiting(in: database)
        let paused = try self.pause(in: database)
        let reason = try self.waitReason(paused: paused, waiting: waiting?.reason, in: database)
        return Job(
            id: self.id,
            sequence: self.sequence,
            app: self.app,
            user: self.user,
            key: self.key,
            priority: self.priority,
            work: self.work,
            state: waiting == nil ? self.state : .retrying,
            result: self.result,
            reason: self.reason ?? reason?.text,
            accepted: self.accepted,
            started: self.started,
            finished: self.finished,
            expires: self.expires,
            due: self.state == .scheduled
                ? self.startsAt
                : paused == nil ? waiting.map { clock.wall(at: $0.due) } : nil,
            counts: try self.counts(in: database, unwritten: unwritten),
            platformCounts: try self.platformCounts(in: database),
            startsAt: self.startsAt,
            progress: try self.progress(in: database),
            cause: reason?.cause,
            label: self.label
        )
    }

    /// What it waits for, where it does: a pause comes before all else.
    private func waitReason(
        paused: WorkQueue?,
        waiting: WaitReason?,
        in database: Database
    ) throws -> WaitReason? {
        if self.reason != nil { return nil }
        return try paused.map(Pause.reason) ?? waiting ?? self.reasonToWait(in: database)
    }

    /// Estimates the size of the audience, assuming that devices are spread evenly over row numbers.
    private func progress(in database: Database) throws -> Job.Progress? {
        guard self.state == .running || self.state.isStopped, case .send(let send) = self.work else { return nil }
        // A list is not spread over row numbers, and soon in batches.
        let isSpread = send.audience.expression != nil
        let cursors = try database.all(
            "SELECT pns, after, through, done, devices FROM cursor WHERE job = ?",
            [self.sequence]
        ) { row in
            (
                pns: try PushService(stored: row[0]), after: row[1] as Int64, through: row[2] as Int64,
                isDone: row[3] as Bool,
                devices: row[4] as Int
            )
        }
        guard !cursors.isEmpty else { return nil }
        var progress: [PushService: Job.Progress.Service] = [:]
        for cursor in cursors {
            var estimate: Int?
            // A stop ends the fan-out too.
            if cursor.isDone || (self.isFannedOut && !self.state.isStopped) {
                estimate = cursor.devices
            } else if isSpread, cursor.after > 0 {
                estimate = Int(
                    clamping: (Double(cursor.devices) * Double(cursor.through) / Double(cursor.after)).rounded()
                )
            }
            progress[cursor.pns] = Job.Progress.Service(devices: cursor.devices, estimate: estimate)
        }
        return Job.Progress(progress)
    }

    private func counts(
        in database: Database,
        unwritten: [(pns: Int, kind: DeliveryCountClass, count: Int)]
    ) throws -> [PushService: DeliveryCounts] {
        guard self.work.kind == .send else { return [:] }
        var counts: [PushService: DeliveryCounts] = [:]
        let written = try database.all("SELECT pns, class, count FROM job_counts WHERE job = ?", [self.sequence]) {
            row in
            (pns: row[0] as Int, kind: try DeliveryCountClass(number: row[1]), count: row[2] as Int)
        }
        for (pns, kind, count) in written + unwritten {
            counts[try PushService(stored: pns), default: DeliveryCounts()].add(count, of: kind)
        }
        return counts
    }

    /// Why some batches of a running job wait that workers have deferred, while others may be in flight.
    private func reasonToWait(in database: Database) throws -> WaitReason? {
        guard self.state == .running, self.work.kind == .send else { return nil }
        let inline = try database.first(
            """
            SELECT message.reason, message.cause FROM job JOIN message ON message.id = job.message
            WHERE job.sequence = ? AND \(BatchTable.isInline) AND message.state = \(MessageState.deferred.rawValue)
            """,
            [self.sequence]
        ) { WaitReason(text: $0[0], cause: $0[1]) }
        if let inline { return inline }
        return try database.first(
            """
            SELECT message.reason, message.cause FROM batch INDEXED BY batch_open JOIN message ON message.id = batch.message
            WHERE batch.job = ? AND batch.open = 1 AND message.state = \(MessageState.deferred.rawValue) LIMIT 1
            """,
            [self.sequence]
        ) { WaitReason(text: $0[0], cause: $0[1]) } ?? nil
    }

    /// The paused queue that keeps some of it waiting, if one does.
    private func pause(in database: Database) throws -> WorkQueue? {
        guard self.state == .queued || self.state == .running else { return nil }
        return try database.pausedQueues(of: self.app).first { queue in
            switch queue {
            case .register: self.work.kind == .register
            case .send: self.work.kind == .send && !self.isFannedOut
            case .deliver(let pns): try self.isOpen(at: pns, in: database)
            }
        }
    }

    /// Whether some of it goes to that service and is not done.
    private func isOpen(at pns: PushService, in database: Database) throws -> Bool {
        let values: StatementArguments = [self.sequence, pns.number]
        return try !self.isFannedOut
            && database.exists("SELECT 1 FROM cursor WHERE job = ? AND pns = ? AND done = 0", values)
            || database.exists(
                "SELECT 1 FROM message WHERE id = ? AND blocked_on & ? <> 0",
                [self.message, pns.bit]
            )
            || database.hasOpenBatch(self.sequence, at: pns)
    }

    /// What a job waits for, where all that is open of it waits for a later try.
    private func waiting(in database: Database) throws -> (due: Int64, reason: WaitReason?)? {
        if self.state == .queued, self.work.kind == .register {
            return try database.first(Self.deferredRegister, [self.message]) {
                (due: $0[0], reason: WaitReason(text: $0[1], cause: $0[2]))
            }
        }
        guard self.state == .running, self.isFannedOut, self.work.kind == .send,
            try !database.exists(Self.inFlight, [self.sequence])
        else { return nil }
        return try database.first(Self.firstWaiting, [self.sequence]) {
            (due: $0[0], reason: WaitReason(text: $0[1], cause: $0[2]))
        }
    }

    /// Whether a batch of a job is at the broker or at a worker.
    static let inFlight = """
        SELECT 1 FROM batch INDEXED BY batch_open JOIN message ON message.id = batch.message
            WHERE batch.job = ?1 AND batch.open = 1 AND message.state = \(MessageState.published.rawValue)
        UNION ALL SELECT 1 FROM job JOIN message ON message.id = job.message
            WHERE job.sequence = ?1 AND \(BatchTable.isInline) AND message.state = \(MessageState.published.rawValue)
        """

    /// The message of a register job that its worker deferred; a pause and a full window of the app give no reason.
    private static let deferredRegister = """
        SELECT due, reason, cause FROM message
        WHERE id = ? AND state = \(MessageState.deferred.rawValue) AND reason IS NOT NULL
        """

    private static let firstWaiting = """
        SELECT message.due, coalesce(message.reason, batch.retry_reason), iif(message.reason IS NULL, retry_cause, cause)
            FROM batch INDEXED BY batch_open JOIN message ON message.id = batch.message WHERE batch.job = ?1 AND batch.open = 1
        UNION ALL SELECT message.due, message.reason, message.cause FROM job JOIN message ON message.id = job.message
            WHERE job.sequence = ?1 AND \(BatchTable.isInline)
        ORDER BY 1 LIMIT 1
        """
}

extension Database {
    func jobRow(_ id: JobID, app: AppID? = nil) throws -> JobRow? {
        let row = try self.first(
            "SELECT \(JobRow.columns) FROM \(JobRow.source) WHERE job.id = ?",
            [id.blob],
            read: JobRow.init
        )
        return app == nil || row?.app == app ? row : nil
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
        try row.job(in: self.database, clock: self.clock, unwritten: self.unwritten(job: row.sequence))
    }
}
