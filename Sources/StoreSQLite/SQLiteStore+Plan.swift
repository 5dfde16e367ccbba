import GRDB
package import PushModel
package import Store
import StoreKit

extension SQLiteStore: PlanStore {
    package func claim(_ job: JobID, lease: Duration) async throws -> PlannerClaim? {
        let claim = try await self.write { context -> PlannerClaim? in
            let database = context.database
            let claimed = try database.change(
                """
                UPDATE job SET planner_epoch = planner_epoch + 1, claims = claims + 1, waits = 0, state = 2,
                    started = coalesce(started, ?1), due = ?2
                WHERE id = ?3 AND kind = ?4 AND planned = 0 AND state IN (1, 2)
                """,
                [
                    context.wall.milliseconds, context.now + lease.milliseconds, job.blob, JobKind.send.number,
                ]
            )
            guard claimed > 0, let row = try database.jobRow(job), case .send(let request) = row.work else {
                return nil
            }
            var lanes = try database.lanes(of: row.sequence)
            if lanes.isEmpty { lanes = try context.layLanes(for: row.sequence, request: request) }
            return PlannerClaim(
                job: try context.job(row),
                request: request,
                epoch: row.epoch,
                lanes: lanes,
                waiter: row.waiter,
                claims: row.claims
            )
        }
        guard let claim, claim.request.omitted > 0 else { return claim }
        return PlannerClaim(
            job: claim.job,
            request: try await self.whole(claim.request, job: claim.job.sequence),
            epoch: claim.epoch,
            lanes: claim.lanes,
            waiter: claim.waiter,
            claims: claim.claims
        )
    }

    package func extend(_ claim: PlannerClaim, lease: Duration) async throws -> Bool {
        try await self.write { try $0.hold(claim, lease: lease) }
    }

    package func release(_ claim: PlannerClaim, waitingFor services: [PNS], pause: Duration) async throws -> Bool {
        try await self.write { context in
            try context.database.change(
                """
                UPDATE job SET due = ?, waits = ?, claims = 0
                WHERE sequence = ? AND planner_epoch = ? AND planned = 0 AND state = 2
                """,
                [
                    context.now + pause.milliseconds, context.waits(of: claim, for: services), claim.job.sequence,
                    claim.epoch,
                ]
            ) > 0
        }
    }

    package func commit(
        _ step: PlanStep,
        of claim: PlannerClaim,
        lease: Duration,
        grace: Duration
    ) async throws -> PlanResult {
        try await self.write { context in
            guard try context.hold(claim, lease: lease) else { return .lost }
            let app = try context.database.ensureNumber(of: claim.job.app)
            let devices = step.batches.reduce(0) { $0 + $1.size }
            let (pns, priority) = (step.lane.pns, claim.job.priority)
            let kind: FeedKind = step.batches.first?.page == 0 ? .first : .page
            guard try context.feed(devices, app: app, pns: pns, priority: priority, as: kind) else {
                return .noRoom
            }
            try context.insert(step, of: claim, app: app, due: context.now + grace.milliseconds)
            let job = claim.job.sequence
            guard try !context.database.exists("SELECT 1 FROM lane WHERE job = ? AND done = 0", [job]) else {
                return .more
            }
            try context.database.run(
                """
                UPDATE job SET planned = 1, due = NULL, hub_state = coalesce(hub_state, 'NoTargetFound') WHERE sequence = ?
                """,
                [job]
            )
            try context.completeIfDone(job)
            return .planned
        }
    }

    package func abandon(_ claim: PlannerClaim, reason: String) async throws -> String? {
        try await self.write { context in
            guard try context.hold(claim, lease: .zero) else { return nil }
            return try context.abandon(claim.job.sequence, reason: reason)
        }
    }

    package func markPublished(batches: [BatchKey], lease: Duration, isRepeat: Bool) async throws {
        guard !batches.isEmpty else { return }
        try await self.write { context in
            for key in batches {
                guard let job = try context.database.sequence(of: key.job) else { continue }
                if isRepeat { try context.feedAgain(key, of: job) }
                try context.database.run(
                    """
                    UPDATE batch SET published = 1, due = ?
                    WHERE job = ? AND pns = ? AND page = ? AND attempt = ? AND open = 1 AND due IS NOT NULL
                        AND (published <> -1 OR due <= ?)
                    """,
                    // One that rests was given back since: its messages are done with.
                    [context.now + lease.milliseconds, job, key.pns.number, key.page, key.attempt, context.now]
                )
            }
        }
    }
}

extension WriteContext {
    /// Lays a lane for each service that the send goes to, up to the highest registration there is now.
    fileprivate func layLanes(for job: Int64, request: SendRequest) throws -> [PlanLane] {
        let through = try self.database.first("SELECT coalesce(max(row), 0) FROM registration") { $0[0] as Int64 } ?? 0
        let services = request.platforms.isEmpty ? PNS.allCases : Array(Set(request.platforms))
        for pns in services {
            try self.database.run(
                "INSERT INTO lane(job, pns, after, through, next_page, done) VALUES (?, ?, 0, ?, 0, 0)",
                [job, pns.number, through]
            )
        }
        return try self.database.lanes(of: job)
    }

    /// Extends the lease of a claim, if it is the latest of a job that is still to be planned.
    fileprivate func hold(_ claim: PlannerClaim, lease: Duration) throws -> Bool {
        try self.database.change(
            "UPDATE job SET due = ? WHERE sequence = ? AND planner_epoch = ? AND planned = 0 AND state = 2",
            [self.now + lease.milliseconds, claim.job.sequence, claim.epoch]
        ) > 0
    }

    fileprivate func insert(_ step: PlanStep, of claim: PlannerClaim, app: Int64, due: Int64) throws {
        let job = claim.job.sequence
        let lane = step.lane
        for batch in step.batches {
            try self.database.run(
                """
                INSERT INTO batch(job, pns, page, attempt, app, priority, from_id, to_id, size, open, published, due)
                VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?, 1, 0, ?)
                """,
                [
                    job, lane.pns.number, batch.page, app, claim.job.priority.rank, batch.from, batch.to, batch.size,
                    due,
                ]
            )
        }
        try self.database.run(
            "UPDATE lane SET after = ?, next_page = ?, done = ?, devices = devices + ? WHERE job = ? AND pns = ?",
            [
                lane.after, lane.nextPage, lane.isDone, step.batches.reduce(0) { $0 + $1.size }, job, lane.pns.number,
            ]
        )
        try self.database.run("UPDATE job SET claims = 0 WHERE sequence = ?", [job])
        if !step.batches.isEmpty {
            try self.database.run(
                "UPDATE job SET hub_state = 'Enqueued' WHERE sequence = ? AND hub_state IS NULL",
                [job]
            )
        }
    }

    /// Ends a send of which nothing was taken.
    ///
    /// Where batches were planned before, those are brought to their end instead.
    ///
    /// - Returns: The waiter's routing key, when this ended the job.
    func abandon(_ job: Int64, reason: String) throws -> String? {
        if try self.database.exists("SELECT 1 FROM batch WHERE job = ? LIMIT 1", [job]) {
            try self.database.run(
                """
                UPDATE job SET planned = 1, due = NULL, planner_epoch = planner_epoch + 1, reason = ?2
                WHERE sequence = ?1 AND planned = 0
                """,
                [job, reason]
            )
            try self.completeIfDone(job)
            return nil
        }
        let wasScheduled = try self.isScheduled(job)
        let waiter = try self.database.first(
            """
            UPDATE job SET state = 11, hub_state = 'Abandoned', reason = ?2, due = NULL, planned = 1, stopped = NULL,
                planner_epoch = planner_epoch + 1, finished = ?3
            WHERE sequence = ?1 AND state < 10 AND inline_pns IS NULL RETURNING waiter
            """,
            [job, reason, self.wall.milliseconds]
        ) { $0[0] as String? }
        guard let waiter else { return nil }
        self.countBacklog(unfinished: wasScheduled ? 0 : -1, scheduled: wasScheduled ? -1 : 0)
        return waiter
    }
}

extension Database {
    fileprivate func lanes(of job: Int64) throws -> [PlanLane] {
        try self.all("SELECT pns, after, through, next_page, done FROM lane WHERE job = ? ORDER BY pns", [job]) { row in
            PlanLane(
                pns: try PNS(number: row[0]),
                after: row[1],
                through: row[2],
                nextPage: row[3],
                isDone: row[4]
            )
        }
    }
}
