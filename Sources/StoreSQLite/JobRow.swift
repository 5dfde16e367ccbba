import Foundation
import GRDB
import PushModel
import Store
import StoreKit

/// A row of the table `job`.
struct JobRow {
    static let columns = """
        job.sequence, job.id, app.name, job.user, job.key, job.priority, job.work, job.state, job.hub_state, job.result,
        job.reason, job.accepted, job.started, job.finished, job.expires, job.due, job.planned, job.traceparent, job.waiter,
        job.planner_epoch, job.claims, job.starts_at
        """
    static let source = "job JOIN app ON app.number = job.app"

    let sequence: Int64
    let id: JobID
    let app: AppID
    let user: UserName?
    let key: String?
    let priority: Priority
    let work: Job.Work
    let state: Job.State
    let hubState: Job.HubState?
    let result: RegisterResult?
    let reason: String?
    let accepted: Timestamp
    let started: Timestamp?
    let finished: Timestamp?
    let expires: Timestamp
    let due: Int64?
    let isPlanned: Bool
    let traceparent: String?
    let waiter: String?
    let epoch: Int
    let claims: Int
    let startsAt: Timestamp?

    init(_ row: Row) throws {
        self.sequence = row[0]
        self.id = try JobID(blob: row[1])
        self.app = try AppID(stored: row[2])
        self.user = try (row[3] as String?).map { try UserName(stored: $0) }
        self.key = row[4]
        self.priority = try Priority(number: row[5])
        self.work = try StoredJSON.work(from: row[6])
        self.state = try Job.State(number: row[7])
        self.hubState = (row[8] as String?).flatMap(Job.HubState.init(rawValue:))
        self.result = try (row[9] as String?).map { try StoredJSON.value(RegisterResult.self, from: $0) }
        self.reason = row[10]
        self.accepted = Timestamp(milliseconds: row[11])
        self.started = (row[12] as Int64?).map(Timestamp.init(milliseconds:))
        self.finished = (row[13] as Int64?).map(Timestamp.init(milliseconds:))
        self.expires = Timestamp(milliseconds: row[14])
        self.due = row[15]
        self.isPlanned = row[16]
        self.traceparent = row[17]
        self.waiter = row[18]
        self.epoch = row[19]
        self.claims = row[20]
        self.startsAt = (row[21] as Int64?).map(Timestamp.init(milliseconds:))
    }

    /// The job as it is shown.
    ///
    /// - Parameters:
    ///   - database: Where its counts and open batches are.
    ///   - clock: Tells when it goes on.
    ///   - unwritten: Counts that are not yet in the table.
    /// - Returns: The job with its counts, seen as retrying where all of it waits.
    /// - Throws: ``StoreError`` where a row makes no sense; what SQLite says.
    func job(
        in database: Database,
        clock: StoreClock,
        unwritten: [(pns: Int, kind: CountClass, count: Int)] = []
    ) throws -> Job {
        let parked = try self.parked(in: database)
        let paused = try self.pause(in: database)
        return Job(
            id: self.id,
            sequence: self.sequence,
            app: self.app,
            user: self.user,
            key: self.key,
            priority: self.priority,
            work: self.work,
            state: parked == nil ? self.state : .retrying,
            hubState: self.hubState,
            result: self.result,
            reason: try self.reason ?? paused.map(Pause.reason) ?? parked?.reason ?? self.reasonToWait(in: database),
            accepted: self.accepted,
            started: self.started,
            finished: self.finished,
            expires: self.expires,
            due: self.state == .scheduled
                ? self.startsAt : paused == nil ? parked.map { clock.wall(at: $0.due) } : nil,
            tallies: try self.tallies(in: database, unwritten: unwritten),
            traceparent: self.traceparent,
            startsAt: self.startsAt,
            plan: try self.plan(in: database)
        )
    }

    /// How far it is laid out: what is left of a lane holds as many devices as what is done, row for row.
    private func plan(in database: Database) throws -> Job.Plan? {
        guard self.state == .running || self.state.isStopped, self.work.kind == .send else { return nil }
        let lanes = try database.all(
            "SELECT pns, after, through, done, devices FROM lane WHERE job = ?",
            [self.sequence]
        ) { row in
            (
                pns: try PNS(number: row[0]), after: row[1] as Int64, through: row[2] as Int64, isDone: row[3] as Bool,
                devices: row[4] as Int
            )
        }
        guard !lanes.isEmpty else { return nil }
        var plan: [PNS: Job.Plan.Lane] = [:]
        for lane in lanes {
            var estimate: Int?
            // Who stops a job ends its planning too.
            if lane.isDone || (self.isPlanned && !self.state.isStopped) {
                estimate = lane.devices
            } else if lane.after > 0 {
                estimate = Int((Double(lane.devices) * Double(lane.through) / Double(lane.after)).rounded())
            }
            plan[lane.pns] = Job.Plan.Lane(devices: lane.devices, estimate: estimate)
        }
        return Job.Plan(plan)
    }

    private func tallies(
        in database: Database,
        unwritten: [(pns: Int, kind: CountClass, count: Int)]
    ) throws -> [PNS: Tally] {
        guard self.work.kind == .send else { return [:] }
        var tallies: [PNS: Tally] = [:]
        let written = try database.all("SELECT pns, class, count FROM tally WHERE job = ?", [self.sequence]) { row in
            (pns: row[0] as Int, kind: try CountClass(number: row[1]), count: row[2] as Int)
        }
        for (pns, kind, count) in written + unwritten {
            tallies[try PNS(number: pns), default: Tally()].add(count, of: kind)
        }
        return tallies
    }

    /// Why some batches of a running job wait that workers have given back, while others may be under way.
    private func reasonToWait(in database: Database) throws -> String? {
        guard self.state == .running, self.work.kind == .send else { return nil }
        return try database.first(
            "SELECT carried_reason FROM batch INDEXED BY batch_open WHERE job = ? AND open = 1 AND published = -1 LIMIT 1",
            [self.sequence]
        ) { $0[0] as String? } ?? nil
    }

    /// The paused queue that keeps some of it waiting, if one does.
    private func pause(in database: Database) throws -> WorkQueue? {
        guard self.state == .queued || self.state == .running else { return nil }
        return try database.pausedQueues(of: self.app).first { queue in
            switch queue {
            case .register: self.work.kind == .register
            case .send: self.work.kind == .send && !self.isPlanned
            case .deliver(let pns): try self.isOpen(at: pns, in: database)
            }
        }
    }

    /// Whether some of it goes to that service and is not done.
    private func isOpen(at pns: PNS, in database: Database) throws -> Bool {
        let values: StatementArguments = [self.sequence, pns.number]
        return try database.exists("SELECT 1 FROM lane WHERE job = ? AND pns = ? AND done = 0", values)
            || database.exists("SELECT 1 FROM job WHERE sequence = ? AND inline_pns = ?", values)
            || database.exists(
                "SELECT 1 FROM batch INDEXED BY batch_open WHERE job = ? AND open = 1 AND pns = ?",
                values
            )
    }

    /// What a running job waits for, where all that is open of it waits for a later try.
    private func parked(in database: Database) throws -> (due: Int64, reason: String?)? {
        guard self.state == .running, self.isPlanned else { return nil }
        let isAtWork = try database.exists(
            """
            SELECT 1 FROM batch WHERE job = ?1 AND open = 1 AND published >= 1
            UNION ALL SELECT 1 FROM batch WHERE job = ?1 AND open = 1 AND published = 0 AND attempt = 0
            """,
            [self.sequence]
        )
        if isAtWork { return nil }
        return try database.first(
            """
            SELECT due, carried_reason FROM batch INDEXED BY batch_open
            WHERE job = ? AND open = 1 AND published <= 0 AND due IS NOT NULL ORDER BY due LIMIT 1
            """,
            [self.sequence]
        ) { (due: $0[0], reason: $0[1]) }
    }
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
