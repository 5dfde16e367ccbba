import Foundation
import PushModel
import Store
import StoreKit
import StoreSQL

// Ends of jobs: completion (rule 14), cancelling and expiry (rule 13).
extension WriteContext {
    /// Makes a job final where all of its audience is in batches and nothing of it is open.
    ///
    /// It is asked in the transaction that closes a batch. Of two writers that close the last two, neither would see the other's: each
    /// would have to ask in a transaction behind it, and the sweeper once more.
    func completeIfDone(_ job: Int64) throws {
        let complete = try PreparedTransition(.complete, self)
        guard try complete.make(job, self.wall.milliseconds, self.now) else { return }
        if let state = try self.state(of: job) { self.countFinished(state) }
    }

    private func state(of job: Int64) throws -> Job.State? {
        try self.database.value("SELECT state FROM job WHERE sequence = ?", [job]).map { try Job.State(number: $0) }
    }

    /// Stops a running job: its fan-out ends, and devices at no worker are counted.
    func stop(_ job: Int64, cause: StopCause) throws {
        let found = try self.database.answer("SELECT state, message, kind FROM job WHERE sequence = \(job)").rows
        guard let row = found.first else { return }
        // A batch of it keeps its own message; while there was none, the job was a member of one.
        let wasInline = try self.materializeBatch(of: job)
        let stop = try PreparedTransition(cause == .cancelled ? .cancel : .expire, self)
        guard try stop.make(job, self.now, from: Job.State(number: row["state"])) else { return }
        if !wasInline, let message: Int64 = try row["message"] { self.leave(message: message) }
        for batch in try self.database.openBatches(of: job, areAtNoWorker: true) {
            try self.closeUnsent(batch, of: job, cause)
        }
        try self.completeIfDone(job)
        if try JobKind(number: row["kind"]) == .register { try self.forgetHandles(ofFinal: job) }
    }

    /// Counts devices of a stopped job whose workers never recorded an outcome.
    func closeOverdue(_ job: Int64) throws {
        guard let cause = try self.state(of: job)?.stopCause else { return }
        for batch in try self.database.openBatches(of: job) { try self.closeUnsent(batch, of: job, cause) }
        try self.completeIfDone(job)
    }

    /// Closes an open batch of a stopped job without an outcome: its devices count as not sent to, but for calls of a hub that were made.
    ///
    /// With a call that is under way it stays open, and a worker looks at it again when that is over.
    func closeUnsent(_ batch: OpenPage, of job: Int64, _ cause: StopCause) throws {
        let found = try self.database.answer(
            """
            SELECT from_id, to_id, retries FROM batch
            WHERE job = \(job) AND pns = \(batch.pns) AND page = \(batch.page) AND attempt = \(batch.attempt)
            """
        ).rows
        guard let row = found.first else { return }
        // Of a first attempt all of its range is meant.
        let retries = try batch.attempt > 0 ? RetryList.decode(row["retries"] ?? []) : nil
        let calls = try self.calls(of: job, pns: batch.pns, from: row["from_id"], to: row["to_id"])
        switch UnsentBatch(size: batch.size, retries: retries, calls: calls, cause: cause) {
        case .open(let left):
            let due = self.now + left.milliseconds
            _ = try self.database.answer("UPDATE message SET due = \(due) WHERE id = \(batch.message) AND due > \(due)")
        case .closed(let counts, let unknown):
            try self.insert(unknown.map { DeviceFailure(unknownCall: $0) }, of: job, batch.pns, at: self.wall)
            try self.close(batch, of: job, counts)
        }
    }

    /// Closes an open batch without an outcome of a worker's.
    func close(_ batch: OpenPage, of job: Int64, _ counts: [DeliveryCountClass: Int]) throws {
        let failed = counts.reduce(0) { sum, count in
            if case .failed = count.key { sum + count.value } else { sum }
        }
        try self.database.run(
            """
            INSERT INTO outcome(job, pns, page, attempt, accepted, failed, expired, cancelled, retries)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)
            """,
            [
                job, batch.pns, batch.page, batch.attempt, counts[.accepted] ?? 0, failed, counts[.expired] ?? 0,
                counts[.cancelled] ?? 0,
            ]
        )
        try self.markClosed(batch, of: job)
        let targets: [DeliveryCountClass: Int] = [.targets: batch.attempt == 0 ? batch.size : 0]
        try self.count(
            targets.merging(counts, uniquingKeysWith: +),
            of: job,
            in: (batch.pns, batch.page, batch.attempt)
        )
    }

    /// Ends a send of which nothing was taken.
    ///
    /// Where batches were written before, those are brought to their end instead.
    ///
    /// - Returns: The waiter's routing key, when this ended the job.
    func abandon(_ job: Int64, reason: String) throws -> String? {
        let found = try self.database.answer("SELECT message, waiter FROM job WHERE sequence = \(job)").rows
        guard let row = found.first else { return nil }
        let message: Int64? = try row["message"]
        if try self.database.exists("SELECT 1 FROM batch WHERE job = ? LIMIT 1", [job]) {
            let ended = try self.database.change(
                "UPDATE job SET fanned_out = 1, message = NULL, reason = ? WHERE sequence = ? AND fanned_out = 0",
                [reason, job]
            )
            if ended > 0, let message { self.leave(message: message) }
            try self.completeIfDone(job)
            return nil
        }
        let abandon = try PreparedTransition(.abandon, self)
        guard try abandon.make(job, self.wall.milliseconds, reason) else { return nil }
        if let message { self.leave(message: message) }
        return try row["waiter"]
    }

    /// Ends a register job; a job that is refused is abandoned.
    ///
    /// - Parameters:
    ///   - id: The job.
    ///   - result: The result.
    ///   - text: The result as JSON.
    /// - Returns: The waiter's routing key, when this ended the job.
    /// - Throws: SQLite's error.
    func finishRegister(_ id: JobID, result: RegisterResult, text: String) throws -> String? {
        let row = try self.database.first("SELECT sequence, message, waiter FROM job WHERE id = ?", [id.blob]) {
            (sequence: $0["sequence"] as Int64, message: $0["message"] as Int64?, waiter: $0["waiter"] as String?)
        }
        guard let row else { return nil }
        var (state, reason) = (Job.State.completed, String?.none)
        if case .refused(let words) = result { (state, reason) = (.abandoned, words) }
        let finish = try PreparedTransition(.finishRegister, self)
        guard try finish.make(row.sequence, state.number, reason, text, self.wall.milliseconds) else { return nil }
        self.countFinished(state)
        if let message = row.message { self.leave(message: message) }
        return row.waiter
    }
}
