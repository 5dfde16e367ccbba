import Foundation
import PushModel
import Store
import StoreKit

// What a removal does to jobs that were accepted before it.

extension UserRemoval {
    /// A job as far as a removal goes by it.
    private struct NamingJob {
        let id: JobID
        let state: Job.State
        let user: UserName?
        let work: String

        init(_ row: Row) throws {
            self.id = try JobID(blob: row[0])
            self.state = try Job.State(number: row[1])
            self.user = try (row[2] as String?).map { try UserName(stored: $0, shown: nil) }
            self.work = row[3]
        }

        /// nil where it cannot be read: then nobody reads a name in it.
        var decoded: Job.Work? { try? StoredJSON.work(from: Array(self.work.utf8)) }
    }

    /// Takes the user from a job.
    func remove(fromJob sequence: Int64, in context: WriteContext) throws {
        let job = try context.database.first(
            "SELECT id, state, user, work FROM job WHERE sequence = ?",
            [sequence],
            read: NamingJob.init
        )
        guard let job else { return }
        switch job.decoded {
        case .register(let request): try self.remove(request, of: job, in: context)
        case .send(let send): try self.remove(from: send, of: job, sequence, in: context)
        case nil: break
        }
        guard job.user == self.user else { return }
        try context.database.run(
            "UPDATE job SET user = NULL, user_shown = NULL, label = NULL WHERE sequence = ?",
            [sequence]
        )
    }

    /// Ends a change about the user's devices that waits, or could be replayed; what a removed operator asked for others goes on.
    private func remove(_ request: RegisterRequest, of job: NamingJob, in context: WriteContext) throws {
        guard UserTraces.subject(of: request, askedBy: job.user) == self.user else { return }
        try context.database.run("UPDATE dead SET work = NULL WHERE job = ?", [job.id.blob])
        guard !job.state.isFinal else { return }
        let result = RegisterResult.refused(Self.words)
        _ = try context.finishRegister(job.id, result: result, text: StoredJSON.text(result))
    }

    /// The result of a change about a removed user.
    static let words = "its user was removed"

    private func remove(
        from send: SendRequest,
        of job: NamingJob,
        _ sequence: Int64,
        in context: WriteContext
    ) throws {
        let isEmptied = job.user == self.user || self.traces.isOnlyAudience(of: send)
        if isEmptied, !job.state.isFinal, job.state.stopCause == nil { try context.stop(sequence, cause: .cancelled) }
        let renamed = self.traces.removed(from: send)
        if isEmptied || renamed != nil {
            let kept = isEmptied ? (renamed ?? send).emptied : (renamed ?? send)
            try context.database.run(
                "UPDATE job SET work = ?, emptied = max(emptied, ?) WHERE sequence = ?",
                [try StoredJSON.text(work: .send(kept)), isEmptied, sequence]
            )
        }
        guard send.truncatedTags > 0 else { return }
        let lines = try context.database.first(Database.audienceTags, [sequence]) { $0[0] as String }
        guard let rest = lines.flatMap({ self.traces.removed(fromLines: $0) }) else { return }
        try context.database.run("UPDATE audience SET tags = ? WHERE job = ?", [rest, sequence])
    }
}

extension Database {
    /// Whether the body of a dead letter holds a payload of a send whose content was removed with a user.
    func isEmptied(_ body: [UInt8]) throws -> Bool {
        guard let message = try? DeliveryMessage(decoding: body) else { return false }
        return try message.batches.contains { batch in
            try self.exists("SELECT 1 FROM job WHERE id = ? AND emptied = 1", [batch.key.job.blob])
        }
    }
}
