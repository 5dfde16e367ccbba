import PushModel
package import Store
import StoreKit
import StoreSQL

extension SQLiteStore: OutcomeSink {
    package func record(_ outcomes: [BatchOutcome]) async throws -> [Bool] {
        try await self.write { context in
            let inline = try InlineOutcomes(context: context)
            return try outcomes.map { try inline.record($0) || context.record($0) }
        }
    }
}

/// An open batch that an outcome belongs to.
private struct OutcomeTarget {
    let job: Int64
    let state: Job.State
    let batch: OpenPage
    let app: Int64
    let priority: Int
    let from: Int64
    let to: Int64
}

extension WriteContext {
    /// Records an outcome if its batch is still open (rule 3).
    ///
    /// - Parameter outcome: The outcome.
    /// - Returns: Whether it was recorded.
    /// - Throws: ``StoreError`` unless it accounts for exactly the devices of this attempt.
    fileprivate func record(_ outcome: BatchOutcome) throws -> Bool {
        guard let target = try self.target(of: outcome.key) else { return false }
        var outcome = outcome
        if target.batch.attempt > 0, outcome.total != target.batch.size {
            throw StoreError(
                .corrupt,
                "an outcome of \(outcome.total) devices for an attempt of \(target.batch.size)"
            )
        }
        if let cause = target.state.stopCause, !outcome.retries.isEmpty {
            let calls = try self.calls(of: target.job, pns: target.batch.pns, from: target.from, to: target.to)
            outcome.stop(for: cause, calls: calls)
        }
        guard try self.fence(outcome, target: target) else { return false }
        try self.markClosed(target.batch, of: target.job)
        try self.insertDeliveries(of: outcome, job: target.job)
        for dead in outcome.deadHandles {
            guard let row = try self.row(of: dead, outcome.key.pns, app: target.app) else { continue }
            try self.database.run(
                """
                INSERT INTO dead_handle(row, handle, credential, before, reason) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (row, handle, credential) DO UPDATE SET before = max(before, excluded.before)
                """,
                [
                    row, dead.handle.text,
                    self.database.ensureNumber(of: dead.credential, outcome.key.pns, app: target.app) ?? 0,
                    dead.before.milliseconds, String(dead.reason.prefix(200)),
                ]
            )
        }
        try self.count(
            outcome.counts,
            of: target.job,
            in: (target.batch.pns, target.batch.page, target.batch.attempt)
        )
        if outcome.retries.isEmpty {
            try self.completeIfDone(target.job)
        } else {
            try self.insertNextAttempt(of: outcome, target: target)
        }
        return true
    }

    private func target(of key: BatchKey) throws -> OutcomeTarget? {
        try self.database.first(
            """
            SELECT job.sequence, job.state, batch.size, job.app, job.priority, batch.from_id, batch.to_id, batch.message
            FROM job JOIN batch ON batch.job = job.sequence
            WHERE job.id = ? AND batch.pns = ? AND batch.page = ? AND batch.attempt = ? AND batch.open = 1
            """,
            [key.job.blob, key.pns.number, key.page, key.attempt]
        ) { row in
            OutcomeTarget(
                job: row["sequence"],
                state: try Job.State(number: row["state"]),
                batch: OpenPage(
                    pns: key.pns.number,
                    page: key.page,
                    attempt: key.attempt,
                    size: row["size"],
                    message: row["message"]
                ),
                app: row["app"],
                priority: row["priority"],
                from: row["from_id"],
                to: row["to_id"]
            )
        }
    }

    private func fence(_ outcome: BatchOutcome, target: OutcomeTarget) throws -> Bool {
        try self.database.change(
            """
            INSERT INTO outcome(job, pns, page, attempt, accepted, failed, expired, cancelled, retries)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
            """,
            [
                target.job, target.batch.pns, target.batch.page, target.batch.attempt, outcome.accepted,
                outcome.failures.count, outcome.expired, outcome.cancelled, outcome.retries.count,
            ]
        ) > 0
    }

    func insertDeliveries(of outcome: BatchOutcome, job: Int64) throws {
        let (pns, at) = (outcome.key.pns.number, outcome.at)
        if !outcome.acceptedRows.isEmpty {
            _ = try self.database.answer(DeliveryTable.accepted(outcome.acceptedRows, of: job, pns, at: at))
        }
        for statement in DeliveryTable.failures(outcome.failures, of: job, pns, at: at) {
            _ = try self.database.answer(statement)
        }
    }

    private func insertNextAttempt(of outcome: BatchOutcome, target: OutcomeTarget) throws {
        let next = NextAttempt(
            of: target.job,
            (target.batch.pns, target.batch.page, target.batch.attempt + 1),
            rows: (target.from, target.to),
            devices: outcome.retries,
            reason: outcome.retryReason
        )
        for statement in try next.writes(app: target.app, priority: target.priority, now: self.now) {
            _ = try self.database.answer(statement)
        }
    }
}
