import GRDB
import PushModel
import Store
import StoreKit

// Ends of jobs: completion (rule 14), cancelling and expiry (rule 13).
extension WriteContext {
    /// Makes a job final where it is planned and nothing of it is open; expired, where workers saw that its time was over before
    /// anybody else did.
    func completeIfDone(_ job: Int64) throws {
        let statement = try RawStatement(
            """
            UPDATE job SET
                state = CASE
                    WHEN state = 3 THEN 12
                    WHEN state = 4 THEN 13
                    WHEN ends <= ?3 AND EXISTS (SELECT 1 FROM outcome WHERE outcome.job = ?1 AND outcome.expired > 0) THEN 13
                    ELSE 10 END,
                hub_state = CASE WHEN state = 2 AND hub_state IS NOT 'NoTargetFound' THEN 'Completed' ELSE hub_state END,
                due = NULL, stopped = NULL, finished = ?2
            WHERE sequence = ?1 AND planned = 1 AND state IN (2, 3, 4) AND inline_pns IS NULL
                AND NOT EXISTS (SELECT 1 FROM batch WHERE batch.job = ?1 AND batch.open = 1)
            """,
            in: self.database
        )
        try statement.run(job, [Int(self.wall.milliseconds), Int(self.now)])
        self.countBacklog(unfinished: -self.database.changesCount)
    }

    /// Stops a job that is not being stopped: nothing more is planned, what is at no worker is counted.
    func stop(_ job: Int64, cause: StopCause) throws {
        let state: Job.State =
            switch cause {
            case .cancelled: .cancelling
            case .expired: .expiring
            }
        let wasScheduled = try self.isScheduled(job)
        let stopped = try self.database.change(
            """
            UPDATE job SET state = ?2, planner_epoch = planner_epoch + 1, planned = 1, due = NULL, stopped = ?3
            WHERE sequence = ?1 AND state < 3
            """,
            [job, state.number, self.now]
        )
        guard stopped > 0 else { return }
        if wasScheduled { self.countBacklog(unfinished: 1, scheduled: -1) }
        try self.writeOutBatch(of: job)
        for batch in try self.openBatches(of: job, unpublishedOnly: true) {
            try self.close(batch, of: job, as: cause.count)
        }
        try self.database.run("UPDATE batch SET due = NULL WHERE job = ? AND open = 1", [job])
        try self.completeIfDone(job)
        try self.database.run(
            "UPDATE job SET work = \(RegisterWork.withoutHandles) WHERE sequence = ? AND kind = 1 AND state >= 10",
            [job]
        )
    }

    /// Whether a job waits for its start: it does not count as unfinished yet.
    func isScheduled(_ job: Int64) throws -> Bool {
        try self.database.exists("SELECT 1 FROM job WHERE sequence = ? AND state = 0", [job])
    }

    /// Counts what a stopped job's workers never answered for.
    func closeOverdue(_ job: Int64) throws {
        guard let row = try self.database.jobRow(sequence: job), let cause = row.state.stopCause else { return }
        for batch in try self.openBatches(of: job, unpublishedOnly: false) {
            try self.close(batch, of: job, as: cause.count)
        }
        try self.completeIfDone(job)
    }

    /// Closes an open batch of which nobody will bring an outcome, with one that counts all its devices alike.
    func close(_ batch: OpenBatch, of job: Int64, as kind: CountClass) throws {
        let size = batch.size
        try self.database.run(
            """
            INSERT INTO outcome(job, pns, page, attempt, accepted, failed, expired, cancelled, carried, at)
            VALUES (?, ?, ?, ?, 0, ?, ?, ?, 0, ?)
            """,
            [
                job, batch.pns, batch.page, batch.attempt, kind == .failed(.dead) ? size : 0,
                kind == .expired ? size : 0,
                kind == .cancelled ? size : 0, self.wall.milliseconds,
            ]
        )
        try self.markClosed(batch, of: job)
        if batch.attempt == 0 { self.count(size, of: .targets, job: job, pns: batch.pns) }
        self.count(size, of: kind, job: job, pns: batch.pns)
    }

    func markClosed(_ batch: OpenBatch, of job: Int64) throws {
        let statement = try RawStatement(
            """
            UPDATE batch SET open = 0, due = NULL, carried = NULL WHERE job = ? AND pns = ? AND page = ? AND attempt = ?
            """,
            in: self.database
        )
        try statement.run(job, [batch.pns, batch.page, batch.attempt])
        if let parcel = batch.parcel { self.leave(parcel: parcel) }
    }

    private func openBatches(of job: Int64, unpublishedOnly: Bool) throws -> [OpenBatch] {
        try self.database.all(
            "SELECT pns, page, attempt, size, parcel FROM batch WHERE job = ? AND open = 1 AND published <= ?",
            [job, unpublishedOnly ? 0 : 2]
        ) { OpenBatch(pns: $0[0], page: $0[1], attempt: $0[2], size: $0[3], parcel: $0[4]) }
    }
}

/// An open row of the table `batch`.
struct OpenBatch {
    let pns: Int
    let page: Int
    let attempt: Int
    /// How many devices it has; for attempt 0 as far as is known before its outcome.
    let size: Int
    /// The parcel that it travels in, if it does in one.
    let parcel: Int64?
}

extension StopCause {
    /// What a device that is not sent to counts as.
    var count: CountClass {
        switch self {
        case .cancelled: .cancelled
        case .expired: .expired
        }
    }
}

extension Job.State {
    /// Why the job is being stopped, if it is.
    var stopCause: StopCause? {
        switch self {
        case .cancelling: .cancelled
        case .expiring: .expired
        case .scheduled, .queued, .running, .retrying, .completed, .abandoned, .cancelled, .expired: nil
        }
    }
}
