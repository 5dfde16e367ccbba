package import PushModel
import Store
package import StoreKit

// Jobs that end, or are brought to their end, for a message of theirs that nobody can work on.
extension JobEndings {
    /// Reads unfinished jobs for what follows.
    static func jobs(_ condition: SQLStatement) -> SQLStatement {
        """
        SELECT job.sequence, job.state, job.message, job.waiter, job.result, job.fanned_out,
            EXISTS (SELECT 1 FROM batch WHERE batch.job = job.sequence) AS has_batches
        FROM job WHERE job.finished IS NULL AND \(condition)
        """
    }

    /// Ends a send of which nothing was taken.
    ///
    /// Where batches were written before, those are brought to their end instead.
    ///
    /// - Returns: Whether this ends the job.
    mutating func abandon(_ job: SQLRow, reason: String) throws -> Bool {
        let (sequence, message) = (try job["sequence"] as Int64, try job["message"] as Int64?)
        let state = try Job.State(number: job["state"])
        // It leaves the message that it was read in: another may have split that since.
        try self.expect(job)
        if try job["has_batches"] {
            if try !(job["fanned_out"] as Bool) {
                let end: SQLStatement = """
                    UPDATE job SET fanned_out = 1, message = NULL, reason = \(reason) WHERE sequence = \(sequence) AND fanned_out = 0
                    """
                self.add(end.expecting(1))
                if let message { self.leave(message: message) }
            }
            self.completeIfDone(sequence)
            return false
        }
        guard JobTransition.abandon.steps.contains(where: { $0.from == state }) else { return false }
        self.make(.abandon, of: sequence, from: state, self.wall, reason)
        if let message { self.leave(message: message) }
        return true
    }

    /// Ends a register job in the state that its result says.
    mutating func finishRegister(_ job: SQLRow, _ result: RegisterResult) throws {
        let (sequence, state) = (try job["sequence"] as Int64, try Job.State(number: job["state"]))
        let (end, reason) = result.end
        let text = try StoredJSON.text(result)
        try self.expect(job)
        self.make(.finishRegister, of: sequence, from: state, to: end, end.number, reason, text, self.wall)
        if let message = try job["message"] as Int64? { self.leave(message: message) }
    }

    /// - Returns: A transaction that ends a register job by its id: the waiter's routing key, when this ended the job.
    package static func finishRegister(
        _ id: JobID,
        _ result: RegisterResult,
        clock: StoreClock
    ) -> SQLTransaction<Ended<String?>> {
        let isRegister: SQLStatement = "job.kind = \(raw: "\(JobKind.register.number)")"
        return SQLTransaction(reading: self.jobs("job.id = \(id) AND \(isRegister)")) { jobs in
            var endings = JobEndings(clock)
            guard let row = jobs.first else { return endings.decision(nil) }
            try endings.finishRegister(row, result)
            return endings.decision(try row["waiter"])
        }
    }
}
