package import PushModel
import Store
import StoreKit
import StoreSQL

extension SQLiteStore: JobStore {
    package func finishRegister(_ id: JobID, result: RegisterResult) async throws -> String? {
        let text = try StoredJSON.text(result)
        return try await self.write { try $0.finishRegister(id, result: result, text: text) }
    }

    func startScheduled(limit: Int) async throws -> Int {
        // Looks before it writes: an idle store stays idle.
        let apps = try await self.rows(JobTable.appsToStart(until: self.clock.wall, limit: limit))
        guard !apps.isEmpty else { return 0 }
        return try await self.write { context in
            // An app with very many jobs scheduled for one time does not delay other apps.
            let share = max(1, limit / apps.count)
            let start = try PreparedTransition(.start, context)
            let cautious = context.clock.cautious.milliseconds
            var count = 0
            for app in apps {
                let due = JobTable.jobsToStart(of: try app["app"], until: context.wall, limit: share)
                for job in try context.database.answer(due).rows {
                    let sequence: Int64 = try job["sequence"]
                    let message = try context.insertMessage(
                        of: sequence,
                        JobKind(number: job["kind"]),
                        app: app["app"],
                        priority: job["priority"]
                    )
                    guard try start.make(sequence, message, context.now, cautious) else {
                        throw StoreError(.corrupt, "a scheduled job does not start")
                    }
                    count += 1
                }
            }
            return count
        }
    }

    func expireJobs(limit: Int) async throws -> Int {
        let lease = 2 * WorkQueue.send.lease.milliseconds
        let now = self.clock.now
        // Looks before it writes: an idle store stays idle.
        let looks = try await self.rows([
            JobTable.jobsToExpire(at: now, limit: 1), JobTable.jobsToClose(stoppedBy: now - lease, limit: 1),
        ])
        guard looks.contains(where: { !$0.isEmpty }) else { return 0 }
        return try await self.write { context in
            let expired = try context.database.answer(JobTable.jobsToExpire(at: context.now, limit: limit)).rows
            for job in expired { try context.stop(job["sequence"], cause: .expired) }
            let overdue = try context.database.answer(
                JobTable.jobsToClose(stoppedBy: context.now - lease, limit: limit - expired.count)
            ).rows
            for job in overdue { try context.closeOverdue(job["sequence"]) }
            return expired.count + overdue.count
        }
    }

    package func cancel(_ id: JobID, app: AppID) async throws -> Job? {
        try await self.write { context in
            guard let row = try context.database.jobRow(id, app: app) else { return }
            if !row.state.isFinal, row.state.stopCause == nil {
                try context.stop(row.plain.sequence, cause: .cancelled)
            }
        }
        return try await self.job(id, app: app)
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
