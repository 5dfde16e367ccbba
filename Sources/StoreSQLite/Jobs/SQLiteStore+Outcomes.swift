import GRDB
package import PushModel
package import Store
import StoreKit

extension SQLiteStore: OutcomeSink {
    package func status(of batches: [BatchKey], in message: MessageID?) async throws -> [LocatedStatus] {
        let now = self.clock.now
        return try await self.read(size: .of(rows: batches.count)) {
            try StatusReader(database: $0, message: message, now: now).status(of: batches)
        }
    }

    package func record(_ outcomes: [BatchOutcome]) async throws -> [Bool] {
        try await self.write { context in
            let inline = try InlineOutcomes(context: context)
            return try outcomes.map { try inline.record($0) || context.record($0) }
        }
    }

    package func users(ofLive rows: [Int64]) async throws -> [UserName?] {
        try await self.read(size: .of(rows: rows.count)) { database in
            let users = try RawStatement("SELECT user FROM registration WHERE row = ? AND state = 1", in: database)
            defer { users.reset() }
            return try rows.reduce(into: []) { found, row in
                try users.restart(row)
                if try users.step() { found.append(try users.text(0).map { try UserName(stored: $0, shown: nil) }) }
            }
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
        if let cause = target.state.stopCause { try self.stop(&outcome, of: target, cause: cause) }
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
        try self.count(outcome, target: target)
        if outcome.retries.isEmpty {
            try self.completeIfDone(target.job)
        } else {
            try self.insertNextAttempt(of: outcome, target: target)
        }
        return true
    }

    private func target(of key: BatchKey) throws -> OutcomeTarget? {
        let statement = try RawStatement(
            """
            SELECT job.sequence, job.state, batch.size, job.app, job.priority, batch.from_id, batch.to_id, batch.message
            FROM job JOIN batch ON batch.job = job.sequence
            WHERE job.id = ? AND batch.pns = ? AND batch.page = ? AND batch.attempt = ? AND batch.open = 1
            """,
            in: self.database
        )
        defer { statement.reset() }
        try statement.bind(key.job.bytes, at: 1)
        for (index, value) in [key.pns.number, key.page, key.attempt].enumerated() {
            try statement.bind(Int64(value), at: Int32(index + 2))
        }
        guard try statement.step() else { return nil }
        return OutcomeTarget(
            job: statement.integer(0),
            state: try Job.State(number: Int(statement.integer(1))),
            batch: OpenPage(
                pns: key.pns.number,
                page: key.page,
                attempt: key.attempt,
                size: Int(statement.integer(2)),
                message: statement.integer(7)
            ),
            app: statement.integer(3),
            priority: Int(statement.integer(4)),
            from: statement.integer(5),
            to: statement.integer(6)
        )
    }

    /// A job that is being stopped has no next attempt, but for calls of a hub that are under way: they are looked at again.
    private func stop(_ outcome: inout BatchOutcome, of target: OutcomeTarget, cause: StopCause) throws {
        guard !outcome.retries.isEmpty else { return }
        let calls = try self.calls(of: target.job, pns: target.batch.pns, from: target.from, to: target.to)
        var underWay: [RetryDevice] = []
        for device in outcome.retries {
            switch calls[device.row] {
            case .taken: outcome.accepted += 1
            case .unknown: outcome.failures.append(DeviceFailure(unknownCall: device.row))
            case .underWay(let left): underWay.append(RetryDevice(row: device.row, tries: device.tries, wait: left))
            default:
                switch cause {
                case .cancelled: outcome.cancelled += 1
                case .expired: outcome.expired += 1
                }
            }
        }
        outcome.retries = underWay
    }

    private func fence(_ outcome: BatchOutcome, target: OutcomeTarget) throws -> Bool {
        let statement = try RawStatement(
            """
            INSERT INTO outcome(job, pns, page, attempt, accepted, failed, expired, cancelled, retries)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
            """,
            in: self.database
        )
        try statement.run(
            target.job,
            [
                target.batch.pns, target.batch.page, target.batch.attempt, outcome.accepted, outcome.failures.count,
                outcome.expired, outcome.cancelled, outcome.retries.count,
            ]
        )
        return self.database.changesCount > 0
    }

    func insertDeliveries(of outcome: BatchOutcome, job: Int64) throws {
        let pns = outcome.key.pns.number
        for row in outcome.acceptedRows { try self.insertDelivery(row, .accepted, of: job, pns, at: outcome.at) }
        for failure in outcome.failures { try self.insert(failure, of: job, pns, at: outcome.at) }
    }

    /// Lists a device that failed.
    func insert(_ failure: DeviceFailure, of job: Int64, _ pns: Int, at time: Timestamp) throws {
        try self.insertDelivery(
            failure.row,
            .failed(failure.failure),
            of: job,
            pns,
            status: failure.status,
            reason: failure.reason,
            at: time
        )
    }

    private func insertDelivery(
        _ row: Int64,
        _ kind: DeliveryCountClass,
        of job: Int64,
        _ pns: Int,
        status: Int = 0,
        reason: String = "",
        at time: Timestamp
    ) throws {
        try self.database.run(
            """
            INSERT INTO delivery(job, pns, row, class, status, reason, at, reference)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, \(RecipientTable.reference))
            """,
            [job, pns, row, kind.number, status, String(reason.prefix(200)), time.milliseconds]
        )
    }

    private func count(_ outcome: BatchOutcome, target: OutcomeTarget) throws {
        let batch = target.batch
        var counts: [DeliveryCountClass: Int] = [
            .targets: batch.attempt == 0 ? outcome.total : 0, .accepted: outcome.accepted, .expired: outcome.expired,
            .cancelled: outcome.cancelled,
        ]
        for failure in outcome.failures { counts[.failed(failure.failure), default: 0] += 1 }
        try self.count(counts, of: target.job, in: (batch.pns, batch.page, batch.attempt))
    }

    private func insertNextAttempt(of outcome: BatchOutcome, target: OutcomeTarget) throws {
        try self.insertAttempt(
            (target.batch.pns, target.batch.page, target.batch.attempt + 1),
            of: (target.job, target.app, target.priority),
            rows: (target.from, target.to),
            devices: outcome.retries,
            reason: outcome.retryReason
        )
    }
}

extension DeviceFailure {
    /// A call of a hub of which nobody knows whether it was taken.
    init(unknownCall row: Int64) {
        self.init(row: row, failure: .unknown, status: 0, reason: HubCallStart.unknownReason)
    }
}
