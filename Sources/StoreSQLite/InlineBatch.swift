import GRDB
import PushModel
import Store

/// The only batch of a small send: its job's row stands for it, and has no rows of other tables.
///
/// That is what nearly all small sends are from their planning to their end. Such a batch is page 0 and attempt 0, travels in a parcel,
/// and is open as long as its job is not final; it ends with every device accepted and its job completed, in one change of one row.
/// Whenever anything else is to become of it, it is written out first, as a row of `batch` like any other.
enum InlineBatch {
    static let tables = """
        -- The only batch of a small send: its service, how far its audience goes, its devices, and the parcel that it travels in.
        ALTER TABLE job ADD COLUMN inline_pns INTEGER;
        ALTER TABLE job ADD COLUMN inline_to INTEGER;
        ALTER TABLE job ADD COLUMN inline_size INTEGER;
        ALTER TABLE job ADD COLUMN inline_parcel INTEGER;
        -- What is recorded of each job, those of inline batches among it: 0 = targets, 1 = accepted.
        ALTER TABLE tally RENAME TO tallied;
        CREATE VIEW tally(job, pns, class, count) AS
            SELECT job, pns, class, count FROM tallied
            UNION ALL SELECT sequence, inline_pns, 0, inline_size FROM job WHERE inline_pns IS NOT NULL AND state >= 10
            UNION ALL SELECT sequence, inline_pns, 1, inline_size FROM job WHERE inline_pns IS NOT NULL AND state >= 10;

        -- In place of an index that each change of a state changed.
        DROP INDEX job_state;
        CREATE INDEX job_open ON job(app) WHERE state < 10;
        CREATE INDEX job_failed ON job(app, state) WHERE state > 10;

        -- Counted by who changes a job, once a commit: a trigger cost a fifth of what it went with. Both tables have other names than
        -- before, so that a process of an older version that still runs fails, and counts nothing wrong.
        DROP TRIGGER job_accepted;
        DROP TRIGGER job_started;
        DROP TRIGGER job_finished;
        DROP TRIGGER job_reopened;
        ALTER TABLE backlog RENAME TO open_jobs;
        """

    static let indexes = """
        -- By what changes at a job's end alone: an index whose condition names the state is written anew whenever that changes.
        DROP INDEX job_open;
        CREATE INDEX job_open ON job(app) WHERE finished IS NULL;
        DROP INDEX job_ends;
        CREATE INDEX job_ends ON job(ends) WHERE finished IS NULL AND stopped IS NULL;
        """
}

/// Brings the outcomes of inline batches in.
struct InlineOutcomes {
    private let context: WriteContext
    private let find: RawStatement
    private let finish: RawStatement

    init(context: WriteContext) throws {
        self.context = context
        self.find = try RawStatement(
            """
            SELECT sequence, state, inline_size, inline_parcel FROM job WHERE id = ? AND inline_pns = ? AND state < 10
            """,
            in: context.database
        )
        self.finish = try RawStatement(
            """
            UPDATE job SET state = 10, finished = ?2, due = NULL, stopped = NULL,
                hub_state = CASE WHEN hub_state IS 'NoTargetFound' THEN hub_state ELSE 'Completed' END
            WHERE sequence = ?1
            """,
            in: context.database
        )
    }

    /// Records an outcome where it is that of an inline batch, and all its devices were accepted (rule 3).
    ///
    /// - Parameter outcome: What became of a batch's devices.
    /// - Returns: Whether it is recorded; if not, the batch is another one, or is written out now.
    /// - Throws: What SQLite says.
    func record(_ outcome: BatchOutcome) throws -> Bool {
        let key = outcome.key
        guard key.page == 0, key.attempt == 0 else { return false }
        try self.find.bind(key.job.bytes, at: 1)
        try self.find.bind(Int64(key.pns.number), at: 2)
        guard try self.find.step() else { return false }
        let job = self.find.integer(0)
        let isRunning = self.find.integer(1) == Int64(Job.State.running.number)
        let size = self.find.integer(2)
        let parcel = self.find.integer(3)
        self.find.reset()
        guard isRunning, outcome.accepted == Int(size), outcome.total == outcome.accepted, outcome.deadHandles.isEmpty
        else {
            try self.context.writeOutBatch(of: job)
            return false
        }
        try self.finish.run(job, [Int(self.context.wall.milliseconds)])
        self.context.leave(parcel: parcel)
        self.context.countBacklog(unfinished: -1)
        try self.context.insertDeliveries(of: outcome, job: job)
        return true
    }
}

extension WriteContext {
    /// Has the inline batch of a job stand in a row of its own, if it has an open one.
    func writeOutBatch(of job: Int64) throws {
        try self.writeOut(where: "sequence = ?1", [job])
    }

    func writeOutBatch(of job: JobID) throws {
        if let sequence = try self.database.sequence(of: job) { try self.writeOutBatch(of: sequence) }
    }

    /// Has the inline batches of a parcel stand in rows of their own.
    ///
    /// - Parameters:
    ///   - parcel: The parcel's number.
    ///   - jobs: Between which jobs they are.
    /// - Throws: What SQLite says.
    func writeOutBatches(of parcel: Int64, jobs: ClosedRange<Int64>) throws {
        try self.writeOut(
            where: "sequence BETWEEN ?1 AND ?2 AND inline_parcel = ?3",
            [jobs.lowerBound, jobs.upperBound, parcel]
        )
    }

    private func writeOut(where condition: String, _ values: StatementArguments) throws {
        let isInline = "\(condition) AND inline_pns IS NOT NULL AND state < 10"
        try self.database.run(
            """
            INSERT INTO batch(job, pns, page, attempt, app, priority, from_id, to_id, size, open, published, parcel)
            SELECT sequence, inline_pns, 0, 0, app, priority, 0, inline_to, inline_size, 1, 2, inline_parcel
            FROM job WHERE \(isInline)
            """,
            values
        )
        try self.database.run(
            """
            UPDATE job SET inline_pns = NULL, inline_to = NULL, inline_size = NULL, inline_parcel = NULL WHERE \(isInline)
            """,
            values
        )
    }
}
