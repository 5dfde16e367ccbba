import GRDB
import PushModel
import Store
import StoreKit

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

/// How the inline batches of a parcel stand, read in one go.
struct InlineStandings {
    private let parcel: ParcelID
    private var batches: [(job: JobID, pns: Int64, place: Int64, state: Int64, ends: Int64)] = []
    /// Where the next one is: a parcel's batches are in the order of their jobs.
    private var next = 0

    static let query = """
        SELECT sequence, id, inline_pns, state, ends FROM job
        WHERE sequence BETWEEN ? AND ? AND inline_parcel = ? AND state < 10 ORDER BY sequence
        """

    init(of parcel: ParcelID, in database: Database) throws {
        self.parcel = parcel
        let range = try database.first("SELECT first, last FROM parcel WHERE id = ?", [parcel.number]) {
            (first: $0[0] as Int64, last: $0[1] as Int64)
        }
        guard let range else { return }
        let statement = try RawStatement(Self.query, in: database)
        defer { statement.reset() }
        try statement.restart(range.first, range.last, parcel.number)
        while try statement.step() {
            guard let id = JobID(bytes: statement.bytes(1)) else {
                throw StoreError(.corrupt, "a row's job id is not 16 bytes")
            }
            self.batches.append(
                (id, statement.integer(2), statement.integer(0), statement.integer(3), statement.integer(4))
            )
        }
    }

    /// - Returns: nil where it is none of them.
    mutating func take(_ key: BatchKey, at now: Int64) throws -> PlacedStanding? {
        guard key.page == 0, key.attempt == 0 else { return nil }
        let isNext = self.next < self.batches.count && self.batches[self.next].job == key.job
        guard let index = isNext ? self.next : self.batches.firstIndex(where: { $0.job == key.job }),
            self.batches[index].pns == key.pns.number
        else { return nil }
        self.next = index + 1
        let batch = self.batches[index]
        return PlacedStanding(
            try BatchStanding(state: batch.state, ends: batch.ends, at: now),
            place: BatchPlace(job: batch.place, parcel: self.parcel)
        )
    }
}

/// Brings the outcomes of inline batches in.
struct InlineOutcomes {
    private let context: WriteContext
    private let find: RawStatement
    private let finish: RawStatement
    private let finishAtPlace: RawStatement

    /// Changes no column that has an index of its own, beside those that tell open jobs from final ones.
    static let atPlace = """
        UPDATE job SET state = 10, finished = ?2, hub_state = 'Completed'
        WHERE sequence = ?1 AND +id = ?6 AND inline_pns = ?3 AND inline_size = ?4 AND inline_parcel = ?5
            AND state = 2 AND due IS NULL AND stopped IS NULL AND hub_state = 'Enqueued'
        """

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
        self.finishAtPlace = try RawStatement(Self.atPlace, in: context.database)
    }

    /// Records an outcome where it is that of an inline batch, and all its devices were accepted (rule 3).
    ///
    /// - Parameter outcome: What became of a batch's devices.
    /// - Returns: Whether it is recorded; if not, the batch is another one, or is written out now.
    /// - Throws: What SQLite says.
    func record(_ outcome: BatchOutcome) throws -> Bool {
        let key = outcome.key
        guard key.page == 0, key.attempt == 0 else { return false }
        if try self.recordAtPlace(outcome) { return true }
        try self.find.bind(key.job.bytes, at: 1)
        try self.find.bind(Int64(key.pns.number), at: 2)
        guard try self.find.step() else { return false }
        let job = self.find.integer(0)
        let isRunning = self.find.integer(1) == Int64(Job.State.running.number)
        let size = self.find.integer(2)
        let parcel = self.find.integer(3)
        self.find.reset()
        guard isRunning, outcome.accepted == Int(size), outcome.isAllAccepted else {
            try self.context.writeOutBatch(of: job)
            return false
        }
        try self.finish.run(job, [Int(self.context.wall.milliseconds)])
        try self.hasFinished(job, of: parcel, outcome)
        return true
    }

    /// Records an outcome in one step where nothing has happened to its batch since it was looked at.
    func recordAtPlace(_ outcome: BatchOutcome) throws -> Bool {
        guard let place = outcome.place, outcome.isAllAccepted else { return false }
        try self.finishAtPlace.bind(outcome.key.job.bytes, at: 6)
        try self.finishAtPlace.run(
            place.job,
            [
                Int(self.context.wall.milliseconds), outcome.key.pns.number, outcome.accepted, Int(place.parcel.number),
            ]
        )
        guard self.context.database.changesCount > 0 else { return false }
        try self.hasFinished(place.job, of: place.parcel.number, outcome)
        return true
    }

    private func hasFinished(_ job: Int64, of parcel: Int64, _ outcome: BatchOutcome) throws {
        self.context.leave(parcel: parcel)
        self.context.countBacklog(unfinished: -1)
        try self.context.insertDeliveries(of: outcome, job: job)
    }
}

extension BatchOutcome {
    /// Whether there is nothing to say of any device but that it was accepted.
    fileprivate var isAllAccepted: Bool { self.total == self.accepted && self.deadHandles.isEmpty }
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
