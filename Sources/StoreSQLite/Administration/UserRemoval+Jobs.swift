import Foundation
import PushModel
import Store
import StoreKit
import StoreSQL

extension SQLiteStore {
    /// Does a part of the removal of a user.
    func removeUser(by job: Int64) async throws -> RegisterResult? {
        let row = try await self.rows(UserRemoval.state(of: job)).first
        switch try UserRemoval.state(row, of: job, at: self.clock.now) {
        case .ended(let result): return result
        case .open(let removal):
            let slice: UserRemoval.Slice? =
                switch removal.position.step {
                case .jobs: try await self.read { try removal.jobs(in: $0) }
                case .deadLetters: try await removal.deadLetters(for: self)
                default: nil
                }
            let isDone = try await self.write { context in
                let isDone = try context.perform(removal.take(slice, in: context.registrations(of: removal.app)))
                if isDone != nil, removal.position.step == .jobs {
                    for job in slice?.rows ?? [] { try removal.remove(fromJob: job, in: context) }
                }
                return isDone
            }
            return isDone == true ? .done : nil
        }
    }
}

// What a removal does to jobs that were accepted before it.
extension UserRemoval {
    /// Jobs of an app in their order, and whether they may name the user.
    static let jobs = """
        SELECT sequence, user IS ?4 OR instr(work, ?5) > 0 OR instr(work, ?6) > 0 OR instr(work, ?7) > 0 OR EXISTS (
            SELECT 1 FROM audience WHERE audience.job = sequence AND instr(tags, ?5) > 0) AS is_named
        FROM job INDEXED BY job_app WHERE app = ?1 AND sequence > ?2 AND sequence < ?3 ORDER BY sequence LIMIT ?8
        """
    /// Jobs that a slice reads.
    private static let rowsARead = 500

    /// Jobs that were accepted before the removal: those that may name the user, by the words in them.
    fileprivate func jobs(in database: Database) throws -> Slice {
        // The first is what selects the user; the last, the name itself. Between them may be the tag as a sender.
        let patterns = self.traces.patterns
        let found = try database.all(
            Self.jobs,
            [
                self.app, self.position.after, self.job, self.user.key.text, patterns[0], patterns[1],
                patterns[patterns.count - 1], Self.rowsARead,
            ]
        ) { (sequence: $0["sequence"] as Int64, isNamed: $0["is_named"] as Bool) }
        let named = found.filter(\.isNamed).map(\.sequence)
        guard named.count <= Self.rowsASlice else {
            let rows = Array(named.prefix(Self.rowsASlice))
            return (rows, Position(step: .jobs, after: rows[rows.count - 1]))
        }
        let last = found.last.map { Position(step: .jobs, after: $0.sequence) }
        return (named, found.count < Self.rowsARead ? self.position.next : last)
    }

    /// A job as far as a removal goes by it.
    private struct NamingJob {
        let id: JobID
        let state: Job.State
        let user: UserName?
        let work: String

        init(_ row: Row) throws {
            self.id = try JobID(blob: row["id"])
            self.state = try Job.State(number: row["state"])
            self.user = try (row["user"] as String?).map { try UserName(stored: $0, shown: nil) }
            self.work = row["work"]
        }

        /// nil where it cannot be read: then nobody reads a name in it.
        var decoded: Job.Work? { try? StoredJSON.work(from: Array(self.work.utf8)) }
    }

    /// Takes the user from a job.
    fileprivate func remove(fromJob sequence: Int64, in context: WriteContext) throws {
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
        let result = RegisterResult.refused(UserTraces.refusal)
        _ = try context.finishRegister(job.id, result: result, text: StoredJSON.text(result))
    }

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
        let lines = try context.database.first(Database.audienceTags, [sequence]) { $0["tags"] as String }
        guard let rest = lines.flatMap({ self.traces.removed(fromLines: $0) }) else { return }
        try context.database.run("UPDATE audience SET tags = ? WHERE job = ?", [rest, sequence])
    }
}

extension Database {
    /// Whether the body of a dead letter holds a payload of a send whose content was removed with a user.
    func isEmptied(_ body: [UInt8]) throws -> Bool {
        try SQLStatement.emptied(in: body).contains { try !self.answer($0).rows.isEmpty }
    }
}
