package import PushModel
package import Store
package import StoreKit

/// Stops jobs, and brings those that were stopped to their end (rule 13).
package enum JobStops {
    /// What is read of jobs that may be stopped, by a query for their numbers; beside it their open batches and the calls of those.
    static func jobs(_ jobs: SQLStatement) -> SQLStatement {
        "SELECT sequence, state, kind, message, ends, stopped FROM job WHERE sequence IN (\(jobs))"
    }

    /// - Returns: The transaction: how many of the jobs were stopped, or looked at again.
    package static func stop(
        _ jobs: SQLStatement,
        _ reason: StopReason,
        clock: StoreClock
    ) -> SQLTransaction<Ended<Int>> {
        SQLTransaction(reading: self.jobs(jobs), OpenBatch.ofJobs(jobs), OpenBatch.calls(ofJobs: jobs)) {
            var endings = JobEndings(clock)
            let count = try self.stop($0, batches: $1, calls: $2, reason, &endings)
            return endings.decision(count)
        }
    }

    /// Stops jobs by what was read of them.
    static func stop(
        _ jobs: [SQLRow],
        batches: [SQLRow],
        calls: [SQLRow],
        _ reason: StopReason,
        _ endings: inout JobEndings
    ) throws -> Int {
        let batches = try Dictionary(grouping: batches.map { try OpenBatch($0) }, by: \.key.job)
        let calls = try Dictionary(grouping: calls, by: { try OpenBatch.Key($0) })
        var count = 0
        for row in jobs {
            let job = try StoppableJob(row)
            guard let stop = reason.stop(of: job, at: endings.now) else { continue }
            let sequence: Int64 = try row["sequence"]
            let open = batches[sequence] ?? []
            let closed = open.filter { stop.closes(message: $0.message, isPublished: $0.isPublished) }
            if stop.isNew {
                try self.begin(stop, row, job.state, open: open, closed: closed, &endings)
            }
            for batch in closed { try endings.closeUnsent(batch, calls: calls[batch.key] ?? [], stop.cause) }
            endings.completeIfDone(sequence)
            if try JobKind(number: row["kind"]) == .register {
                endings.addLast(RegisterWork.removal(ofFinal: sequence))
            }
            count += 1
        }
        return count
    }

    /// Ends the fan-out of a job; a batch of it keeps its own message.
    private static func begin(
        _ stop: JobStop,
        _ row: SQLRow,
        _ state: Job.State,
        open: [OpenBatch],
        closed: [OpenBatch],
        _ endings: inout JobEndings
    ) throws {
        let (sequence, message) = (try row["sequence"] as Int64, try row["message"] as Int64?)
        // Those of which the batches end come to no worker until then.
        let messages = Set(closed.filter { $0.messageState != nil }.map(\.message))
        let areUnpublished: SQLStatement = """
            SELECT id FROM message WHERE id IN (\(numbers: messages.sorted()))
                AND state <> \(raw: "\(MessageState.published.rawValue)") \(lock: .update)
            """
        try endings.expect(row)
        if !messages.isEmpty { endings.add(areUnpublished.expecting(messages.count)) }
        if open.contains(where: \.isInline) {
            endings.materialize(sequence)
        } else if let message {
            endings.leave(message: message)
        }
        endings.make(stop.cause == .cancelled ? .cancel : .expire, of: sequence, from: state, endings.now)
    }
}

extension StoppableJob {
    fileprivate init(_ row: SQLRow) throws {
        self.init(state: try Job.State(number: row["state"]), ends: try row["ends"], stopped: try row["stopped"])
    }
}

extension JobStore where Self: SQLEngine {
    package func cancel(_ id: JobID, app: AppID) async throws -> Job? {
        let job: SQLStatement = """
            SELECT sequence FROM job JOIN app ON app.number = job.app WHERE job.id = \(id) AND app.name = \(app.name)
            """
        _ = try await self.end(JobStops.stop(job, .cancel, clock: self.clock))
        return try await self.job(id, app: app)
    }
}

extension SQLEngine {
    /// Stops jobs whose time is over, and closes what workers left open of jobs that were stopped two leases ago.
    package func expireJobs(limit: Int) async throws -> Int {
        let overdue = self.clock.now - 2 * WorkQueue.send.lease.milliseconds
        // Looks before it writes: an idle store stays idle.
        let expired = try await self.jobsToExpire(limit: limit)
        let stopped = try await self.rows(JobTable.jobsToClose(stoppedBy: overdue, limit: limit))
        let jobs: [Int64] = try (expired + stopped.map { try $0["sequence"] }).prefix(limit).map(\.self)
        let completed = try await self.completeLeftJobs()
        guard !jobs.isEmpty else { return completed }
        let stop = JobStops.stop("\(numbers: jobs)", .sweep(overdue: overdue), clock: self.clock)
        return try await completed + self.end(stop)
    }
}
