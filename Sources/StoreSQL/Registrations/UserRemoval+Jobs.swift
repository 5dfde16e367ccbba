package import PushModel
import Store
import StoreKit

// What a removal does to jobs that were accepted before it.
extension UserRemoval {
    /// Jobs that a slice reads, and of how many of them it takes the user: some have lists of names of some hundred kilobytes.
    private static let jobsARead = 500
    private static let jobsASlice = 50

    /// Jobs that were accepted before the removal: those that may name the user, by the words in them.
    func jobs(for engine: some SQLEngine) async throws -> Slice {
        // The first is what selects the user; the last, the name itself. Between them may be the tag as a sender.
        let patterns = self.traces.patterns
        let words = [patterns[0], patterns[1], patterns[patterns.count - 1]].map {
            "instr(work, \($0)) > 0" as SQLStatement
        }
        let found = try await engine.rows(
            """
            SELECT sequence, "user" IS NOT DISTINCT FROM \(self.user.key.text) OR \(SQLStatement(joining: words, with: " OR "))
                OR EXISTS (SELECT 1 FROM audience WHERE audience.job = sequence AND instr(tags, \(patterns[0])) > 0) AS is_named
            FROM job WHERE app = \(self.app) AND sequence > \(self.position.after) AND sequence < \(self.job)
            ORDER BY sequence LIMIT \(Self.jobsARead)
            """
        )
        let named: [Int64] = try found.filter { try $0["is_named"] }.map { try $0["sequence"] }
        guard named.count <= Self.jobsASlice else {
            let rows = Array(named.prefix(Self.jobsASlice))
            return (rows, Position(step: .jobs, after: rows[rows.count - 1]))
        }
        let last = try found.last.map { Position(step: .jobs, after: try $0["sequence"]) }
        return (named, found.count < Self.jobsARead ? self.position.next : last)
    }

    /// What is read of the jobs of a slice.
    static func reads(ofJobs jobs: [Int64]) -> [SQLStatement] {
        let numbers: SQLStatement = "\(numbers: jobs)"
        return [
            """
            SELECT job.sequence, job.id, job.state, job.message, job."user", job.work, audience.tags
            FROM job LEFT JOIN audience ON audience.job = job.sequence WHERE job.sequence IN (\(numbers))
            """
        ] + JobStops.reads(of: numbers)
    }

    /// Takes the user from jobs, by what ``reads(ofJobs:)`` gives.
    func remove(fromJobs rows: ArraySlice<[SQLRow]>, _ endings: inout JobEndings) throws {
        guard let jobs = rows.first else { return }
        var stopped: Set<Int64> = []
        for job in jobs {
            let user = try (job["user"] as String?).map { try UserName(stored: $0, shown: nil) }
            // A work that cannot be read is read by nobody, so that nobody reads a name in it.
            switch try? StoredJSON.work(from: Array((job["work"] as String).utf8)) {
            case .register(let request) where UserTraces.subject(of: request, askedBy: user) == self.user:
                // It waits, or could be replayed; what a removed operator asked for others goes on.
                endings.add("UPDATE dead SET work = NULL WHERE job = \(try job["id"] as JobID)")
                if try !Job.State(number: job["state"]).isFinal {
                    try endings.finishRegister(job, .refused(UserTraces.refusal))
                }
            case .send(let send):
                let isEmptied = user == self.user || self.traces.isOnlyAudience(of: send)
                if isEmptied { stopped.insert(try job["sequence"]) }
                try self.remove(from: send, of: job, isEmptied: isEmptied, &endings)
            case .register, nil: break
            }
            guard user == self.user else { continue }
            endings.add(
                """
                UPDATE job SET "user" = NULL, user_shown = NULL, label = NULL WHERE sequence = \(try job["sequence"] as Int64)
                """
            )
        }
        var open = Array(rows.dropFirst())
        open[0] = try open[0].filter { stopped.contains(try $0["sequence"]) }
        _ = try JobStops.stop(open[...], .cancel, &endings)
    }

    private func remove(
        from send: SendRequest,
        of job: SQLRow,
        isEmptied: Bool,
        _ endings: inout JobEndings
    ) throws {
        let sequence: Int64 = try job["sequence"]
        let renamed = self.traces.removed(from: send)
        if isEmptied || renamed != nil {
            let kept = isEmptied ? (renamed ?? send).emptied : (renamed ?? send)
            endings.add(
                """
                UPDATE job SET work = \(try StoredJSON.text(work: .send(kept))),
                    emptied = CASE WHEN \(isEmptied) = 1 THEN 1 ELSE emptied END WHERE sequence = \(sequence)
                """
            )
        }
        guard send.truncatedTags > 0, let lines = try job["tags"] as String?,
            let rest = self.traces.removed(fromLines: lines)
        else { return }
        endings.add("UPDATE audience SET tags = \(rest) WHERE job = \(sequence)")
    }
}

extension SQLEngine {
    /// Does a part of the removal of a user.
    package func removeUser(by job: Int64) async throws -> RegisterResult? {
        let row = try await self.rows(UserRemoval.state(of: job)).first
        switch try UserRemoval.state(row, of: job, at: self.clock.now) {
        case .ended(let result): return result
        case .open(let removal):
            let slice: UserRemoval.Slice? =
                switch removal.position.step {
                case .jobs: try await removal.jobs(for: self)
                case .deadLetters: try await removal.deadLetters(for: self)
                default: nil
                }
            let table = RegistrationTable(app: removal.app, clock: self.clock, digest: self.handles)
            return try await self.end(removal.take(slice, in: table)) == true ? .done : nil
        }
    }
}
