import Foundation
import PushModel
import Store
import StoreKit
import StoreSQL

// Ends of jobs behind outcomes, fan-outs and registrations (rule 14).
extension WriteContext {
    /// Makes a job final where all of its audience is in batches and nothing of it is open.
    ///
    /// It is asked in the transaction that closes a batch. Of two writers that close the last two, neither would see the other's: each
    /// would have to ask in a transaction behind it, and the sweeper once more.
    func completeIfDone(_ job: Int64) throws {
        let complete = try PreparedTransition(.complete, self)
        guard try complete.make(job, self.wall.milliseconds, self.now) else { return }
        let state: Int? = try self.database.value("SELECT state FROM job WHERE sequence = ?", [job])
        if let state { self.countFinished(try Job.State(number: state)) }
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
        let row = try self.database.first("SELECT sequence, state, message, waiter FROM job WHERE id = ?", [id.blob]) {
            (
                sequence: $0["sequence"] as Int64, state: try Job.State(number: $0["state"]),
                message: $0["message"] as Int64?, waiter: $0["waiter"] as String?
            )
        }
        guard let row else { return nil }
        let (state, reason) = result.end
        let finish = try PreparedTransition(.finishRegister, self)
        let wall = self.wall.milliseconds
        guard try finish.make(row.sequence, state.number, reason, text, wall, from: row.state) else { return nil }
        self.countFinished(state)
        if let message = row.message { self.leave(message: message) }
        return row.waiter
    }
}
