package import PushModel
import Store
import StoreKit

extension SQLiteStore: JobStore {
    package func job(_ id: JobID, app: AppID) async throws -> Job? {
        let clock = self.clock
        return try await self.read(size: .short) { database in
            try database.jobRow(id, app: app)?.job(in: database, clock: clock)
        }
    }

    package func jobs(_ ids: [JobID]) async throws -> [Job] {
        let clock = self.clock
        return try await self.read(size: ids.count == 1 ? .short : .ordinary) { database in
            try ids.compactMap { try database.jobRow($0)?.job(in: database, clock: clock) }
        }
    }

    package func registerJobs(of message: MessageID) async throws -> [Job] {
        let clock = self.clock
        return try await self.read { database in
            guard let range = try database.jobRange(of: message.number) else { return [] }
            let rows = try database.all(
                """
                SELECT \(JobRow.columns) FROM \(JobRow.source)
                WHERE job.sequence BETWEEN ? AND ? AND job.message = ? AND job.kind = ? AND job.ends > ? ORDER BY job.sequence
                """,
                [range.lowerBound, range.upperBound, message.number, JobKind.register.number, clock.now],
                read: JobRow.init
            )
            return try rows.map { try $0.job(in: database, clock: clock) }
        }
    }

    package func finishRegister(_ id: JobID, result: RegisterResult) async throws -> String? {
        let text = try StoredJSON.text(result)
        return try await self.write { try $0.finishRegister(id, result: result, text: text) }
    }

    func startScheduled(limit: Int) async throws -> Int {
        let wall = self.clock.wall.milliseconds
        // Looks before it writes: an idle store stays idle.
        let apps = try await self.read { try $0.appsWithScheduledJobs(until: wall, limit: limit) }
        guard !apps.isEmpty else { return 0 }
        return try await self.write { context in
            // An app with very many jobs scheduled for one time does not delay other apps.
            let share = max(1, limit / apps.count)
            let jobs = try apps.flatMap {
                try context.database.scheduledJobs(of: $0, until: context.wall.milliseconds, limit: share)
            }
            let start = try PreparedTransition(.start, context)
            for job in jobs {
                let message = try context.insertMessage(
                    of: job.sequence,
                    job.kind,
                    app: job.app,
                    priority: job.priority
                )
                let cautious = context.clock.cautious.milliseconds
                guard try start.make(job.sequence, message, context.now, cautious) else {
                    throw StoreError(.corrupt, "a scheduled job does not start")
                }
            }
            return jobs.count
        }
    }

    func expireJobs(limit: Int) async throws -> Int {
        let lease = 2 * WorkQueue.send.lease.milliseconds
        guard try await self.hasJobsToEnd(lease: lease) else { return 0 }
        return try await self.write { context in
            let expired: [Int64] = try context.database.values(
                "SELECT sequence FROM job WHERE \(Self.mayExpire) AND ends <= ? ORDER BY ends LIMIT ?",
                [context.now, limit]
            )
            for job in expired { try context.stop(job, cause: .expired) }
            let overdue: [Int64] = try context.database.values(
                "SELECT sequence FROM job WHERE stopped <= ? ORDER BY stopped LIMIT ?",
                [context.now - lease, limit - expired.count]
            )
            for job in overdue { try context.closeOverdue(job) }
            return expired.count + overdue.count
        }
    }

    /// Jobs that are neither final nor being stopped, as in their index.
    private static let mayExpire = "finished IS NULL AND stopped IS NULL"

    /// Looks before it writes: an idle store stays idle.
    private func hasJobsToEnd(lease: Int64) async throws -> Bool {
        let now = self.clock.now
        return try await self.read { database in
            try database.exists("SELECT 1 FROM job WHERE \(Self.mayExpire) AND ends <= ? LIMIT 1", [now])
                || database.exists("SELECT 1 FROM job WHERE stopped <= ? LIMIT 1", [now - lease])
        }
    }

    package func cancel(_ id: JobID, app: AppID) async throws -> Job? {
        try await self.write { context in
            guard let row = try context.database.jobRow(id, app: app) else { return nil }
            if !row.state.isFinal, row.state.stopCause == nil {
                try context.stop(row.plain.sequence, cause: .cancelled)
            }
            return try context.database.jobRow(sequence: row.plain.sequence).map(context.job)
        }
    }
}

extension Database {
    /// Whether a job's lifetime is over.
    func isOver(_ job: Int64, at now: Int64) throws -> Bool {
        try self.exists("SELECT 1 FROM job WHERE sequence = ? AND ends <= ?", [job, now])
    }
}

extension WriteContext {
    /// Writes a message for a single job, due at once.
    ///
    /// - Returns: Its number.
    func insertMessage(of job: Int64, _ kind: JobKind, app: Int64, priority: Int) throws -> Int64 {
        try self.insert(
            NewMessage(
                queue: kind == .register ? .register : .send,
                app: app,
                priority: priority,
                // Only the sweeper publishes it.
                state: .deferred,
                due: self.now,
                members: 1,
                jobs: job...job
            )
        )
    }
}

/// A scheduled job that is due.
private struct ScheduledJob {
    let sequence: Int64
    let app: Int64
    let kind: JobKind
    let priority: Int
}

extension Database {
    /// The apps with due scheduled jobs, found one after the other in the index.
    fileprivate func appsWithScheduledJobs(until wall: Int64, limit: Int) throws -> [Int64] {
        var apps: [Int64] = []
        var last: Int64 = -1
        while apps.count < limit,
            let app: Int64 = try self.value(
                "SELECT app FROM job WHERE \(JobTransition.scheduled) AND app > ? ORDER BY app LIMIT 1",
                [last]
            )
        {
            last = app
            let isTime = try self.exists(
                "SELECT 1 FROM job WHERE \(JobTransition.scheduled) AND app = ? AND starts_at <= ? LIMIT 1",
                [app, wall]
            )
            if isTime { apps.append(app) }
        }
        return apps
    }

    fileprivate func scheduledJobs(of app: Int64, until wall: Int64, limit: Int) throws -> [ScheduledJob] {
        try self.all(
            """
            SELECT sequence, app, kind, priority FROM job
            WHERE \(JobTransition.scheduled) AND app = ? AND starts_at <= ? ORDER BY starts_at LIMIT ?
            """,
            [app, wall, limit]
        ) {
            ScheduledJob(
                sequence: $0["sequence"],
                app: $0["app"],
                kind: try JobKind(number: $0["kind"]),
                priority: $0["priority"]
            )
        }
    }
}
