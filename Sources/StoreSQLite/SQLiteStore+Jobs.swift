import Foundation
import GRDB
package import PushModel
package import Store

extension SQLiteStore: JobStore {
    package func accept(_ job: NewJob) async throws -> Acceptance {
        let work = try StoredJSON.text(work: job.work)
        let limit = self.configuration.maximumBacklog
        return try await self.write(.short) { context in
            let database = context.database
            let app = try database.ensureNumber(of: job.app)
            if let idempotency = job.idempotency, let earlier = try context.earlier(idempotency, app: app) {
                return earlier
            }
            let isScheduled = job.startsLater(than: context.wall)
            if let limit {
                let backlog = try context.backlog()
                // What starts in a year must not keep out what starts now.
                guard (isScheduled ? backlog.scheduled : backlog.unfinished) < limit else {
                    let what = isScheduled ? "scheduled" : "unfinished"
                    throw StoreError(.backlogFull, "\(limit) jobs are accepted and \(what)")
                }
            }
            if let notification = job.notification { try context.insert(notification, app: app) }
            let accepted = try context.insert(job, app: app, work: work)
            if let idempotency = job.idempotency {
                try database.run(
                    """
                    INSERT INTO idempotency(app, caller, route, key, hash, job, created) VALUES (?, ?, ?, ?, ?, ?, ?)
                    """,
                    [
                        app, idempotency.caller, idempotency.route, idempotency.key, Data(idempotency.hash),
                        accepted.sequence, context.wall.milliseconds,
                    ]
                )
            }
            return .accepted(accepted)
        }
    }

    package func job(_ id: JobID, app: AppID) async throws -> Job? {
        let clock = self.clock
        return try await self.read(isShort: true) { database in
            try database.jobRow(id, app: app)?.job(in: database, clock: clock)
        }
    }

    package func jobs(_ ids: [JobID]) async throws -> [Job] {
        let clock = self.clock
        return try await self.read { database in
            try ids.compactMap { try database.jobRow($0)?.job(in: database, clock: clock) }
        }
    }

    package func markPublished(jobs: [JobID], lease: Duration) async throws {
        try await self.markPublished(jobs.map { ($0, 0) }, lease: lease)
    }

    package func markPublished(due jobs: [DueJob], lease: Duration) async throws {
        try await self.markPublished(jobs.map { ($0.id, $0.epoch) }, lease: lease)
    }

    private func markPublished(_ jobs: [(id: JobID, epoch: Int)], lease: Duration) async throws {
        guard !jobs.isEmpty else { return }
        // Looks before it writes: most have been taken by the time they are marked.
        let unclaimed = try await self.read { database in
            try jobs.filter { job in
                try database.exists(
                    "SELECT 1 FROM job WHERE id = ? AND planner_epoch = ? AND due IS NOT NULL",
                    [job.id.blob, job.epoch]
                )
            }
        }
        guard !unclaimed.isEmpty else { return }
        try await self.write { context in
            for job in unclaimed {
                // A planner that took it meanwhile has given it a lease, or has given it back: that stays.
                try context.database.run(
                    "UPDATE job SET due = max(due, ?) WHERE id = ? AND planner_epoch = ? AND due IS NOT NULL",
                    [context.now + lease.milliseconds, job.id.blob, job.epoch]
                )
            }
        }
    }

    func startScheduled(limit: Int, overdue: Duration) async throws -> Int {
        let wall = self.clock.wall.milliseconds
        // Looks before it writes: an idle store stays idle.
        let isTime = try await self.read { database in
            try database.exists("SELECT 1 FROM job WHERE state = 0 AND starts_at <= ? LIMIT 1", [wall])
        }
        guard isTime else { return 0 }
        return try await self.write { context in
            let jobs = try context.database.all(
                "SELECT sequence FROM job WHERE state = 0 AND starts_at <= ? ORDER BY starts_at LIMIT ?",
                [context.wall.milliseconds, limit]
            ) { $0[0] as Int64 }
            for job in jobs {
                let started = try context.database.change(
                    // What starts late lives less long; a clock that was set ahead makes nothing late.
                    """
                    UPDATE job SET state = 1, due = ?, ends = ? + expires - max(starts_at, ?)
                    WHERE sequence = ? AND state = 0
                    """,
                    [
                        context.now - overdue.milliseconds, context.now, context.clock.cautious.milliseconds, job,
                    ]
                )
                context.countBacklog(unfinished: started, scheduled: -started)
            }
            return jobs.count
        }
    }

    package func postpone(_ job: JobID, by pause: Duration) async throws {
        try await self.write { context in
            try context.database.run(
                // The epoch: whoever marks it published only now must not undo this.
                "UPDATE job SET due = ?, planner_epoch = planner_epoch + 1 WHERE id = ? AND due IS NOT NULL",
                [context.now + pause.milliseconds, job.blob]
            )
        }
    }

    package func raiseStarts(job: JobID) async throws -> Int {
        try await self.write { context in
            try context.database.first(
                "UPDATE job SET starts = starts + 1 WHERE id = ? RETURNING starts",
                [job.blob]
            ) { $0[0] as Int } ?? 0
        }
    }

    package func registerJob(_ id: JobID) async throws -> Job? {
        let clock = self.clock
        return try await self.read { database in
            guard let row = try database.jobRow(id), row.work.kind == .register, !row.state.isFinal,
                try !database.isOver(row.sequence, at: clock.now)
            else {
                return nil
            }
            return try row.job(in: database, clock: clock)
        }
    }

    package func finishRegister(_ id: JobID, result: RegisterResult) async throws -> String? {
        let text = try StoredJSON.text(result)
        return try await self.write { try $0.finishRegister(id, result: result, text: text) }
    }

    func expireJobs(limit: Int, lease: Duration) async throws -> Int {
        guard try await self.hasJobsToEnd(lease: lease) else { return 0 }
        return try await self.write { context in
            let expired = try context.database.all(
                "SELECT sequence FROM job WHERE \(Self.mayExpire) AND ends <= ? ORDER BY ends LIMIT ?",
                [context.now, limit]
            ) { $0[0] as Int64 }
            for job in expired { try context.stop(job, cause: .expired) }
            let overdue = try context.database.all(
                "SELECT sequence FROM job WHERE stopped <= ? ORDER BY stopped LIMIT ?",
                [context.now - 2 * lease.milliseconds, limit - expired.count]
            ) { $0[0] as Int64 }
            for job in overdue { try context.closeOverdue(job) }
            return expired.count + overdue.count
        }
    }

    /// Jobs that are neither at their end nor being stopped, as their index has it.
    private static let mayExpire = "finished IS NULL AND stopped IS NULL"

    /// Looks before it writes: an idle store stays idle.
    private func hasJobsToEnd(lease: Duration) async throws -> Bool {
        let now = self.clock.now
        let stopped = now - 2 * lease.milliseconds
        return try await self.read { database in
            try database.exists("SELECT 1 FROM job WHERE \(Self.mayExpire) AND ends <= ? LIMIT 1", [now])
                || database.exists("SELECT 1 FROM job WHERE stopped <= ? LIMIT 1", [stopped])
        }
    }

    package func cancel(_ id: JobID, app: AppID) async throws -> Job? {
        try await self.write { context in
            guard let row = try context.database.jobRow(id, app: app) else { return nil }
            if row.state.number < Job.State.cancelling.number { try context.stop(row.sequence, cause: .cancelled) }
            return try context.database.jobRow(sequence: row.sequence).map(context.job)
        }
    }
}

extension WriteContext {
    /// What an earlier request with that key came to.
    fileprivate func earlier(_ idempotency: NewJob.Idempotency, app: Int64) throws -> Acceptance? {
        let kept = try self.database.first(
            "SELECT hash, job FROM idempotency WHERE app = ? AND caller = ? AND route = ? AND key = ?",
            [app, idempotency.caller, idempotency.route, idempotency.key]
        ) { (hash: $0[0] as Data, job: $0[1] as Int64) }
        guard let kept else { return nil }
        guard kept.hash.elementsEqual(idempotency.hash) else { return .keyReused }
        guard let row = try self.database.jobRow(sequence: kept.job) else {
            throw StoreError(.corrupt, "an idempotency key without its job")
        }
        return .repeated(try self.job(row))
    }

    fileprivate func insert(_ job: NewJob, app: Int64, work: String) throws -> Job {
        let state: Job.State = job.startsLater(than: self.wall) ? .scheduled : .queued
        try self.database.run(
            """
            INSERT INTO job(id, app, user, key, kind, priority, platforms, state, work, due, expires, waiter, traceparent,
                accepted, starts_at, ends)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                job.id.blob, app, job.user?.name, job.key, job.work.kind.number, job.priority.rank,
                job.work.platformBits,
                state.number, work, state == .scheduled ? nil : self.now, job.expires(accepted: self.wall).milliseconds,
                job.waiter,
                job.traceparent, self.wall.milliseconds, job.startsAt?.milliseconds,
                state == .scheduled ? nil : self.end(of: job),
            ]
        )
        let accepted = job.job(sequence: self.database.lastInsertedRowID, accepted: self.wall, state: state)
        self.countAccepted(state)
        try self.database.insertAudience(of: job.work, job: accepted.sequence)
        return accepted
    }

    /// Counts a job that is accepted.
    func countAccepted(_ state: Job.State) {
        self.countBacklog(unfinished: state == .scheduled ? 0 : 1, scheduled: state == .scheduled ? 1 : 0)
    }

    /// When the job's time is over, by the store's clock.
    func end(of job: NewJob) -> Int64 { self.now + job.lifetime.milliseconds }

    /// Ends a register job; a job that is refused is abandoned.
    ///
    /// Handles are in its work no longer.
    ///
    /// - Parameters:
    ///   - id: The job.
    ///   - result: What it came to.
    ///   - text: The result as JSON.
    /// - Returns: The waiter's routing key, when this ended the job.
    /// - Throws: What SQLite says.
    func finishRegister(_ id: JobID, result: RegisterResult, text: String) throws -> String? {
        let state: Job.State
        let reason: String?
        if case .refused(let words) = result {
            (state, reason) = (.abandoned, words)
        } else {
            (state, reason) = (.completed, nil)
        }
        let ended = try self.database.first(
            """
            UPDATE job SET state = ?1, reason = ?2, result = ?3, due = NULL, planned = 1, stopped = NULL,
                started = coalesce(started, ?4), finished = ?4, work = \(RegisterWork.withoutHandles)
            WHERE id = ?5 AND kind = ?6 AND state < 10 RETURNING waiter
            """,
            [state.number, reason, text, self.wall.milliseconds, id.blob, JobKind.register.number]
        ) { $0[0] as String? }
        guard let ended else { return nil }
        self.countBacklog(unfinished: -1)
        return ended
    }
}

extension Database {
    /// Whether a job's time is over.
    func isOver(_ job: Int64, at now: Int64) throws -> Bool {
        try self.exists("SELECT 1 FROM job WHERE sequence = ? AND ends <= ?", [job, now])
    }
}

extension NewJob {
    func startsLater(than now: Timestamp) -> Bool { self.startsAt.map { $0 > now } ?? false }
}

extension Job.Work {
    /// The services that the work names, as bits; 0 = it names none.
    var platformBits: Int {
        switch self {
        case .send(let request): request.platforms.reduce(0) { $0 | $1.bit }
        case .register(.upsert(_, let upsert)): upsert.pns.bit
        case .register(.issue), .register(.delete): 0
        }
    }
}
