package import PushModel
import Store
import StoreKit

// What a removal does to jobs that were accepted before it.
extension UserRemoval {
    /// Jobs that a slice looks at, and of how many of them it takes the user: some have lists of names of some hundred kilobytes.
    private static let jobsARead = 500
    private static let jobsASlice = 50
    /// The open batches of sends that a slice stops, but for those of its last send: a stop is one transaction (rule 13).
    static let batchesASlice = 500

    /// Jobs that were accepted before the removal: those that may name the user, by the words in them.
    ///
    /// Whether one is to be stopped is seen here: a send that is not never comes to be.
    func jobs(for engine: some SQLEngine) async throws -> Slice {
        let found = try await engine.rows(self.candidates)
        let named: [Int64] = try found.filter { try $0["is_named"] }.map { try $0["sequence"] }
        let some = named.prefix(Self.jobsASlice)
        var slice = Slice(end: self.position.next)
        if named.count > some.count, let last = some.last {
            slice.end = Position(step: .jobs, after: last)
        } else if found.count == Self.jobsARead, let last = found.last {
            slice.end = Position(step: .jobs, after: try last["sequence"])
        }
        var batches = 0
        for job in try await engine.rows(Self.works(of: Array(some))) {
            let sequence: Int64 = try job["sequence"]
            slice.rows.append(sequence)
            guard case .send(let send) = self.work(of: job), try self.stops(send, askedBy: self.asker(of: job))
            else { continue }
            slice.stopped.append(sequence)
            batches += try job["open"]
            if batches > Self.batchesASlice {
                slice.end = Position(step: .jobs, after: sequence)
                break
            }
        }
        return slice
    }

    /// The next jobs that were accepted before the removal, and whether each may name the user.
    var candidates: SQLStatement {
        // The first is what selects the user; the last, the name itself. Between them may be the tag as a sender.
        let patterns = self.traces.patterns
        let words = (patterns.prefix(2) + patterns.suffix(1)).map { "instr(work, \($0)) > 0" as SQLStatement }
        return """
            SELECT sequence, "user" IS NOT DISTINCT FROM \(self.user.key.text) OR \(SQLStatement(joining: words, with: " OR "))
                OR EXISTS (SELECT 1 FROM audience WHERE audience.job = sequence AND instr(tags, \(patterns.first)) > 0) AS is_named
            FROM job WHERE app = \(self.app) AND sequence > \(self.position.after) AND sequence < \(self.job)
            ORDER BY sequence LIMIT \(Self.jobsARead)
            """
    }

    /// Works of jobs, each with how many batches of it are open.
    static func works(of jobs: [Int64]) -> SQLStatement {
        """
        SELECT sequence, "user", work, (SELECT count(*) FROM batch WHERE batch.job = job.sequence AND batch.open = 1) AS open
        FROM job WHERE sequence IN (\(numbers: jobs)) ORDER BY sequence
        """
    }

    /// A work that cannot be read is read by nobody, so that nobody reads a name in it.
    private func work(of job: SQLRow) -> Job.Work? {
        try? StoredJSON.work(from: Array((job["work"] as String).utf8))
    }

    private func asker(of job: SQLRow) throws -> UserName? {
        try (job["user"] as String?).map { try UserName(stored: $0, shown: nil) }
    }

    /// Whether a send ends with its user, or reaches nobody but the user.
    private func stops(_ send: SendRequest, askedBy asker: UserName?) -> Bool {
        asker == self.user || self.traces.isOnlyAudience(of: send)
    }

    /// What is read of the jobs of a slice.
    static func reads(of slice: Slice) -> [SQLStatement] {
        [
            """
            SELECT job.sequence, job.id, job.state, job.message, job."user", job.work, audience.tags
            FROM job LEFT JOIN audience ON audience.job = job.sequence WHERE job.sequence IN (\(numbers: slice.rows))
            """,
            JobStops.jobs("\(numbers: slice.stopped)"), OpenBatch.ofJobs("\(numbers: slice.stopped)"),
            OpenBatch.calls(ofJobs: "\(numbers: slice.stopped)"),
        ]
    }

    /// Takes the user from jobs, by what ``reads(of:)`` gives; a job that names the user no more by then is left as it is.
    func remove(fromJobs rows: ArraySlice<[SQLRow]>, _ endings: inout JobEndings) throws {
        var rows = rows
        let (jobs, sends) = (rows.removeFirst(), rows.removeFirst())
        let (batches, calls) = (rows.removeFirst(), rows.removeFirst())
        var stopped: Set<Int64> = []
        for job in jobs {
            let user = try self.asker(of: job)
            switch self.work(of: job) {
            case .register(let request) where UserTraces.subject(of: request, askedBy: user) == self.user:
                // It waits, or could be replayed; what a removed operator asked for others goes on.
                endings.add("UPDATE dead SET work = NULL WHERE job = \(try job["id"] as JobID)")
                if try !Job.State(number: job["state"]).isFinal {
                    try endings.finishRegister(job, .refused(UserTraces.refusal))
                }
            case .send(let send):
                let isEmptied = self.stops(send, askedBy: user)
                if isEmptied { stopped.insert(try job["sequence"]) }
                try self.remove(from: send, of: job, isEmptied: isEmptied, &endings)
            case .register, nil: break
            }
            guard user == self.user else { continue }
            endings.add(
                """
                UPDATE job SET "user" = NULL, user_shown = NULL, label = NULL, request = NULL
                WHERE sequence = \(try job["sequence"] as Int64)
                """
            )
        }
        let left = try sends.filter { stopped.contains(try $0["sequence"]) }
        _ = try JobStops.stop(left, batches: batches, calls: calls, .cancel, &endings)
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
