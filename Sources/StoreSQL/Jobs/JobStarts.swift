import PushModel
import Store
import StoreKit

extension SQLEngine {
    /// Starts scheduled jobs whose time has come, each with a message of its own.
    ///
    /// - Returns: How many.
    func startScheduled(limit: Int) async throws -> Int {
        // Looks before it writes: an idle store stays idle.
        let apps = try await self.rows(JobTable.appsToStart(until: self.clock.wall, limit: limit))
        guard !apps.isEmpty else { return 0 }
        // An app with very many jobs scheduled for one time does not delay other apps.
        let share = max(1, limit / apps.count)
        let due = try apps.map { JobTable.jobsToStart(of: try $0["app"], until: self.clock.wall, limit: share) }
        let clock = self.clock
        return try await self.end(
            SQLTransaction(reading: due) { answers in
                var changes = JobEndings(clock)
                let jobs = Array(answers.joined())
                for job in jobs { try changes.start(job, at: clock.cautious) }
                return changes.decision(jobs.count)
            }
        )
    }
}

extension JobEndings {
    fileprivate mutating func start(_ job: SQLRow, at wall: Timestamp) throws {
        let sequence: Int64 = try job["sequence"]
        let message = NewMessage(
            of: sequence,
            try JobKind(number: job["kind"]),
            app: try job["app"],
            priority: try job["priority"],
            now: self.now
        )
        self.add(message.insertion)
        self.make(.start, of: sequence, from: .scheduled, self.now, wall)
    }
}
