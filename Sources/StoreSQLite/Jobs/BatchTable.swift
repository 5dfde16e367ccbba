import Foundation
import PushModel
import Store
import StoreKit
import StoreSQL

/// The table of batches, and the form without a row that nearly all small sends have: their only batch stands in columns of the job.
///
/// An inline batch is page 0 and attempt 0, and is open as long as its job is not final; `job.message` is its message then. It ends with
/// every device accepted and its job completed, in one change of one row. Before anything else becomes of it, it is materialized: a row
/// like any other. No caller knows which form a batch has.
enum BatchTable {
    static let schema = """
        -- due: of a later attempt, from when the waits of its devices count, by the store's clock.
        CREATE TABLE batch(
            job INTEGER NOT NULL REFERENCES job,
            pns INTEGER NOT NULL,
            page INTEGER NOT NULL,
            attempt INTEGER NOT NULL,
            from_id INTEGER NOT NULL,
            to_id INTEGER NOT NULL,
            size INTEGER NOT NULL,
            open INTEGER NOT NULL,
            message INTEGER NOT NULL,
            due INTEGER,
            retries BLOB,
            -- What it waits for: a WaitReason's text and cause.
            retry_reason TEXT,
            retry_cause TEXT,
            -- Of the table template: of its range only those that have it are meant; null = all.
            template INTEGER,
            PRIMARY KEY (job, pns, page, attempt)
        ) STRICT, WITHOUT ROWID;
        -- open stands in the columns too, else SQLite would fetch each row for it.
        CREATE INDEX batch_open ON batch(job, open, attempt, message) WHERE open = 1;
        CREATE INDEX batch_template ON batch(template, open) WHERE template IS NOT NULL;
        CREATE INDEX batch_message ON batch(message, open) WHERE open = 1;
        """

    /// Its parameters are those of a `NewBatch`, in their order; no template = 0, too.
    static let insert = """
        INSERT INTO batch(job, pns, page, attempt, from_id, to_id, size, open, message, template)
        VALUES (?, ?, ?, 0, ?, ?, ?, 1, ?, nullif(?, 0))
        """
}

/// An open row of the table `batch`.
struct OpenPage {
    let pns: Int
    let page: Int
    let attempt: Int
    /// How many devices it has; for attempt 0 as far as is known before its outcome.
    let size: Int
    let message: Int64
}

extension WriteContext {
    func markClosed(_ batch: OpenPage, of job: Int64) throws {
        try self.database.run(
            "UPDATE batch SET open = 0, retries = NULL WHERE job = ? AND pns = ? AND page = ? AND attempt = ?",
            [job, batch.pns, batch.page, batch.attempt]
        )
        self.leave(message: batch.message)
    }

    /// Materializes the open inline batch of a job.
    func materializeBatch(of job: Int64) throws {
        for statement in OpenBatch.materialization(of: job) { _ = try self.database.answer(statement) }
    }
}

/// Records outcomes of inline batches whose devices were all accepted, with one update of the job's row.
struct InlineOutcomes {
    private let context: WriteContext
    private let find: PreparedStatement
    private let acceptAll: PreparedTransition
    private let acceptAllAtHint: PreparedTransition

    init(context: WriteContext) throws {
        self.context = context
        self.find = try PreparedStatement(
            "SELECT sequence, state, inline_size, message FROM job WHERE id = ? AND inline_pns = ? AND finished IS NULL",
            in: context.database
        )
        self.acceptAll = try PreparedTransition(.acceptAll, context)
        self.acceptAllAtHint = try PreparedTransition(.acceptAllAtHint, context)
    }

    /// Records an outcome where it is that of an inline batch, and all its devices were accepted (rule 3).
    ///
    /// - Parameter outcome: The outcome.
    /// - Returns: Whether it is recorded; if not, the batch is a row.
    /// - Throws: SQLite's error.
    func record(_ outcome: BatchOutcome) throws -> Bool {
        let key = outcome.key
        guard key.page == 0, key.attempt == 0 else { return false }
        if try self.recordAtHint(outcome) { return true }
        try self.find.bind(key.job.bytes, key.pns.number)
        guard try self.find.step() else { return false }
        let job = self.find.integer(0)
        let isRunning = self.find.integer(1) == Int64(Job.State.running.number)
        let size = self.find.integer(2)
        let message = self.find.integer(3)
        self.find.reset()
        guard isRunning, outcome.accepted == Int(size), outcome.isAllAccepted else {
            try self.context.materializeBatch(of: job)
            return false
        }
        guard try self.acceptAll.make(job, self.context.wall.milliseconds) else { return false }
        try self.hasFinished(job, of: message, outcome)
        return true
    }

    /// Records an outcome in one step where nothing has happened to its batch since it was looked at.
    private func recordAtHint(_ outcome: BatchOutcome) throws -> Bool {
        guard let hint = outcome.hint, outcome.isAllAccepted else { return false }
        let (key, message) = (outcome.key, hint.message.number)
        let wall = self.context.wall.milliseconds
        guard
            try self.acceptAllAtHint.make(hint.job, wall, key.pns.number, outcome.accepted, message, key.job.bytes)
        else { return false }
        try self.hasFinished(hint.job, of: hint.message.number, outcome)
        return true
    }

    private func hasFinished(_ job: Int64, of message: Int64, _ outcome: BatchOutcome) throws {
        self.context.leave(message: message)
        try self.context.insertDeliveries(of: outcome, job: job)
    }
}
