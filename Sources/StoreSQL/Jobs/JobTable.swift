package import PushModel
import Store
package import StoreKit

/// The table `job`, read for display.
package enum JobTable {
    /// Jobs are found first, and then their apps: PostgreSQL would look for a few jobs by walking through all that an app has.
    private static let columns: SQLStatement = """
        SELECT job.sequence, job.id, app.name AS app_name, job."user", job.user_shown, job.key, job.priority, job.work, job.state, job.result,
            job.reason, job.accepted, job.started, job.finished, job.expires, job.fanned_out, job.waiter, job.starts_at, job.message, job.label,
            job.request
        FROM job JOIN app ON app.number = +job.app WHERE
        """

    /// Reads jobs, for ``JobRow/init(_:)``.
    package static func rows(_ condition: SQLStatement) -> SQLStatement { "\(self.columns) \(condition)" }

    /// Reads a job by its id.
    package static func row(_ id: JobID, app: AppID?) -> SQLStatement {
        self.rows("job.id = \(id) \(app.map { "AND app.name = \($0.name)" } ?? "" as SQLStatement)")
    }

    /// Whether a job is a message's.
    package static func isMember(of message: Int64) -> SQLStatement {
        """
        job.sequence BETWEEN (SELECT first FROM message WHERE id = \(message))
            AND (SELECT CASE WHEN last < first THEN first ELSE last END FROM message WHERE id = \(message))
            AND job.message = \(message)
        """
    }

    /// The register jobs of a message that are to be worked on, in the order of their acceptance.
    static func registers(of message: MessageID, now: Int64) -> SQLStatement {
        self.rows(
            """
            \(self.isMember(of: message.number)) AND job.kind = \(raw: "\(JobKind.register.number)") AND job.ends > \(now)
            ORDER BY job.sequence
            """
        )
    }

    /// The jobs that a message stands for, for ``JobTrace/init(_:)``: its members that are not final, and those whose open batches are.
    static func traces(of message: Int64) -> [SQLStatement] {
        [
            "SELECT job.id, job.request FROM job WHERE \(self.isMember(of: message)) AND job.finished IS NULL",
            """
            SELECT job.id, job.request FROM batch JOIN job ON job.sequence = batch.job
            WHERE batch.message = \(message) AND batch.open = 1
            """,
        ]
    }

    // MARK: Ends

    /// That a job ended so, otherwise than completed, by the index of these that every engine has.
    ///
    /// SQLite would take what names its index for a better way than the state itself, and go through all that failed, unless told.
    static func isFailed(as state: Job.State) -> SQLStatement {
        let failed = SQLStatement.text(
            forSQLite: "likely(job.\(JobTransition.failed))",
            forPostgreSQL: "job.failed = \(state.number)"
        )
        return "\(raw: failed)"
    }

    /// How many sends of an app have ended so since a time, among the newest jobs that did.
    static func ended(_ state: Job.State, of app: AppID, since: Timestamp) -> SQLStatement {
        """
        SELECT count(*) AS ended FROM (
            SELECT kind, finished FROM job
            WHERE app = \(SQLStatement.app(app)) AND job.state = \(raw: "\(state.number)") AND \(self.isFailed(as: state))
            ORDER BY sequence DESC LIMIT \(raw: "\(AppStanding.mostEnded)")
        ) AS newest WHERE kind = \(raw: "\(JobKind.send.number)") AND finished >= \(since)
        """
    }

    // MARK: Times

    private static let isScheduled = SQLStatement(
        stringLiteral: SQLStatement.text(forSQLite: JobTransition.scheduled, forPostgreSQL: "scheduled IS NOT NULL")
    )
    /// When a scheduled job starts, by the column that the index has.
    private static let start = SQLStatement(
        stringLiteral: SQLStatement.text(forSQLite: "starts_at", forPostgreSQL: "scheduled")
    )

    /// The apps with scheduled jobs whose time has come, found one after the other in the index.
    static func appsToStart(until wall: Timestamp, limit: Int) -> SQLStatement {
        """
        WITH RECURSIVE found(app) AS (
            SELECT min(app) FROM job WHERE \(self.isScheduled)
            UNION ALL SELECT (SELECT min(app) FROM job WHERE \(self.isScheduled) AND app > found.app) FROM found WHERE app IS NOT NULL
        )
        SELECT app FROM found
        WHERE EXISTS (SELECT 1 FROM job WHERE \(self.isScheduled) AND job.app = found.app AND \(self.start) <= \(wall)) LIMIT \(limit)
        """
    }

    /// The scheduled jobs of an app whose time has come, the first first.
    static func jobsToStart(of app: Int64, until wall: Timestamp, limit: Int) -> SQLStatement {
        """
        SELECT sequence, app, kind, priority FROM job
        WHERE \(self.isScheduled) AND app = \(app) AND \(self.start) <= \(wall) ORDER BY \(self.start) LIMIT \(limit)
        """
    }

    /// Jobs whose lifetime is over, and that are neither final nor being stopped.
    package static func jobsToExpire(at now: Int64, limit: Int) -> SQLStatement {
        """
        SELECT sequence FROM job WHERE finished IS NULL AND stopped IS NULL AND ends <= \(now) ORDER BY ends LIMIT \(limit)
        """
    }

    /// Jobs that were stopped so long ago, and are not final yet.
    package static func jobsToClose(stoppedBy time: Int64, limit: Int) -> SQLStatement {
        "SELECT sequence FROM job WHERE stopped <= \(time) ORDER BY stopped LIMIT \(limit)"
    }

    // MARK: Details

    /// Reads what else a job needs to be shown, for ``job(_:_:clock:)``.
    package static func details(of row: JobRow) -> [SQLStatement] {
        let (job, details) = (row.plain.sequence, OpenWork(row))
        return row.needs.map { need in
            switch need {
            case .counts: "SELECT pns, class, count FROM job_counts WHERE job = \(job)"
            case .platformCounts: "SELECT platform, class, count FROM platform_count WHERE job = \(job)"
            case .cursors: "SELECT pns, after, through, done, devices FROM cursor WHERE job = \(job)"
            case .waiting: row.work.kind == .register ? details.deferredMessage : details.firstWaiting
            case .deferral: details.deferral
            case .paused: "SELECT queue FROM pause WHERE \(details.isPaused) ORDER BY queue, app"
            case .openServices: details.services
            }
        }
    }

    /// A job for display.
    ///
    /// - Parameters:
    ///   - row: Its row.
    ///   - rows: What ``details(of:)`` gives, in that order.
    ///   - clock: Converts the time of the next retry.
    /// - Returns: The job.
    /// - Throws: ``StoreError`` for a corrupt row.
    package static func job(_ row: JobRow, _ rows: some Sequence<[SQLRow]>, clock: StoreClock) throws -> Job {
        var details = JobDetails()
        for (need, rows) in zip(row.needs, rows) { try details.add(need, rows) }
        return row.job(with: details, clock: clock)
    }
}

/// Statements about what is open of a job.
private struct OpenWork {
    let job: Int64
    let message: Int64?
    let isFannedOut: Bool
    let isPaused: SQLStatement

    init(_ row: JobRow) {
        self.job = row.plain.sequence
        self.message = row.message
        self.isFannedOut = row.isFannedOut
        self.isPaused = "app = \(PauseTable.allApps) OR app = \(SQLStatement.app(row.plain.app))"
    }

    private static func state(_ state: MessageState) -> SQLStatement { "message.state = \(raw: "\(state.rawValue)")" }

    /// The messages of its open batches.
    private var ofBatches: SQLStatement {
        "FROM batch JOIN message ON message.id = batch.message WHERE batch.job = \(self.job) AND batch.open = 1"
    }

    /// The message of its inline batch.
    private var ofInline: SQLStatement {
        """
        FROM job JOIN message ON message.id = job.message
        WHERE job.sequence = \(self.job) AND inline_pns IS NOT NULL AND finished IS NULL
        """
    }

    /// Of a register job, its message where its worker has deferred it.
    var deferredMessage: SQLStatement {
        "SELECT due, reason, cause FROM message WHERE id = \(self.message) AND \(Self.state(.deferred)) AND reason IS NOT NULL"
    }

    var deferral: SQLStatement {
        """
        SELECT message.reason, message.cause \(self.ofInline) AND \(Self.state(.deferred))
        UNION ALL SELECT message.reason, message.cause \(self.ofBatches) AND \(Self.state(.deferred)) LIMIT 1
        """
    }

    /// The batch that is due first, unless one is at the broker or at a worker; looked for in that order, for most have one there.
    var firstWaiting: SQLStatement {
        """
        SELECT message.due, coalesce(message.reason, batch.retry_reason) AS reason,
            CASE WHEN message.reason IS NULL THEN batch.retry_cause ELSE message.cause END AS cause
        FROM message LEFT JOIN batch ON batch.message = message.id AND batch.open = 1 AND batch.job = \(self.job)
        WHERE message.id = CASE
            WHEN EXISTS (SELECT 1 \(self.ofBatches) AND \(Self.state(.published))) THEN NULL
            WHEN EXISTS (SELECT 1 \(self.ofInline) AND \(Self.state(.published))) THEN NULL
            ELSE (SELECT id FROM (
                SELECT message.id, message.due \(self.ofBatches) UNION ALL SELECT message.id, message.due \(self.ofInline)
                ORDER BY due, id LIMIT 1) AS first) END
        LIMIT 1
        """
    }

    /// The services to which some of it goes and is not done, also as bits.
    var services: SQLStatement {
        let hasPause: SQLStatement = "EXISTS (SELECT 1 FROM pause WHERE \(self.isPaused))"
        let cursors: SQLStatement =
            self.isFannedOut
            ? "" : "SELECT pns, 0 AS bits FROM cursor WHERE job = \(self.job) AND done = 0 AND \(hasPause) UNION ALL"
        return """
            \(cursors) SELECT inline_pns AS pns, 0 AS bits FROM job
            WHERE sequence = \(self.job) AND inline_pns IS NOT NULL AND finished IS NULL AND \(hasPause)
            UNION ALL SELECT pns, 0 FROM batch WHERE job = \(self.job) AND open = 1 AND \(hasPause)
            UNION ALL SELECT NULL, blocked_on FROM message WHERE id = \(self.message) AND \(hasPause)
            """
    }
}

extension JobDetails {
    fileprivate mutating func add(_ need: JobDetail, _ rows: [SQLRow]) throws {
        switch need {
        case .counts:
            for row in rows {
                let (pns, kind) = (try PushService(stored: row["pns"]), try DeliveryCountClass(number: row["class"]))
                self.counts[pns, default: DeliveryCounts()].add(try row["count"], of: kind)
            }
        case .platformCounts:
            for row in rows {
                let (platform, kind) = (try row["platform"] as String, try DeliveryCountClass(number: row["class"]))
                self.platformCounts[platform, default: DeliveryCounts()].add(try row["count"], of: kind)
            }
        case .cursors:
            for row in rows { self.cursors[try PushService(stored: row["pns"])] = try FanOutCursor(row) }
        case .waiting:
            self.waiting = try rows.first.map { JobWaiting(due: try $0["due"], reason: try WaitReason($0)) }
        case .deferral: self.deferral = try rows.first.flatMap { try WaitReason($0) }
        case .paused: self.paused = try rows.compactMap { WorkQueue(try $0["queue"] as String) }
        case .openServices:
            for row in rows {
                if let pns = try row["pns"] as Int? { self.openServices.insert(try PushService(stored: pns)) }
                self.addServices(blockedOn: try row["bits"])
            }
        }
    }
}

extension JobTrace {
    /// Of a job's row.
    init(_ row: SQLRow) throws { self.init(try row["id"], request: try RequestID(row)) }
}

extension RequestID {
    /// Of a job's row; nil if it has none.
    init?(_ row: SQLRow) throws {
        guard let id = (try row["request"] as String?).flatMap({ RequestID(stored: $0) }) else { return nil }
        self = id
    }
}

extension FanOutCursor {
    fileprivate init(_ row: SQLRow) throws {
        self.init(
            after: try row["after"],
            through: try row["through"],
            isDone: try row["done"],
            devices: try row["devices"]
        )
    }
}

extension WaitReason {
    fileprivate init?(_ row: SQLRow) throws { self.init(text: try row["reason"], cause: try row["cause"]) }
}

extension JobRow {
    package init(_ row: SQLRow) throws {
        let job = Job(
            id: try row["id"],
            sequence: try row["sequence"],
            app: try AppID(stored: row["app_name"]),
            user: try (row["user"] as String?).map { try UserName(stored: $0, shown: row["user_shown"]) },
            key: try row["key"],
            priority: try Priority(number: row["priority"]),
            work: try StoredJSON.work(from: Array((row["work"] as String).utf8)),
            state: try Job.State(number: row["state"]),
            result: try (row["result"] as String?).map { try StoredJSON.value(RegisterResult.self, from: $0) },
            reason: try row["reason"],
            accepted: try row["accepted"],
            started: try row["started"],
            finished: try row["finished"],
            expires: try row["expires"],
            startsAt: try row["starts_at"],
            label: try (row["label"] as String?).map { try JobLabel(stored: $0) },
            request: try RequestID(row)
        )
        self.init(
            plain: job,
            isFannedOut: try row["fanned_out"],
            waiter: try row["waiter"],
            message: try row["message"]
        )
    }
}
