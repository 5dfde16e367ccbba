import GRDB
package import PushModel
package import Store
import StoreKit

extension SQLiteStore: OutcomeSink {
    package func standing(of batches: [BatchKey]) async throws -> [BatchKey: BatchStanding] {
        let now = self.clock.now
        return try await self.read { try $0.standing(of: batches, at: now) }
    }

    package func standing(of batches: [BatchKey], in parcel: ParcelID) async throws -> [PlacedStanding] {
        let now = self.clock.now
        return try await self.read(isShort: batches.count <= Shortcut.rows) {
            try $0.standing(of: batches, in: parcel, at: now)
        }
    }

    package func record(_ outcome: BatchOutcome) async throws -> Bool {
        try await self.write { try InlineOutcomes(context: $0).record(outcome) || $0.record(outcome) }
    }

    package func record(together outcomes: [BatchOutcome]) async throws -> [Bool] {
        try await self.write { context in
            let inline = try InlineOutcomes(context: context)
            return try outcomes.map { try inline.record($0) || context.record($0) }
        }
    }

    package func takeApart(_ parcel: ParcelID) async throws {
        try await self.write { try $0.takeApart(parcel) }
    }

    package func park(_ batch: BatchKey, for pause: Duration, reason: String) async throws -> Bool {
        try await self.write { try $0.park(batch, for: pause, reason: reason) }
    }

    package func park(_ parcel: ParcelID, for pause: Duration, reason: String) async throws {
        try await self.write { try $0.park(parcel, for: pause, reason: reason) }
    }

    package func raiseStarts(batch: BatchKey) async throws -> Int {
        try await self.write { context in
            guard let job = try context.database.sequence(of: batch.job) else { return 0 }
            try context.writeOutBatch(of: job)
            return try context.database.first(
                """
                UPDATE batch SET starts = starts + 1
                WHERE job = ? AND pns = ? AND page = ? AND attempt = ? AND open = 1
                RETURNING starts
                """,
                [job, batch.pns.number, batch.page, batch.attempt]
            ) { $0[0] as Int } ?? 0
        }
    }

    package func users(ofLive rows: [Int64]) async throws -> [UserName?] {
        try await self.read(isShort: rows.count <= Shortcut.rows) { database in
            let users = try RawStatement("SELECT user FROM registration WHERE row = ? AND state = 1", in: database)
            defer { users.reset() }
            return try rows.reduce(into: []) { found, row in
                try users.restart(row)
                if try users.step() { found.append(try users.text(0).map { try UserName(stored: $0) }) }
            }
        }
    }
}

extension Database {
    fileprivate func standing(of batches: [BatchKey], in parcel: ParcelID, at now: Int64) throws -> [PlacedStanding] {
        var inline = try InlineStandings(of: parcel, in: self)
        let standing = try batches.map { try inline.take($0, at: now) }
        let others = zip(batches, standing).filter { $0.1 == nil }.map(\.0)
        let found = others.isEmpty ? [:] : try self.standing(of: others, within: parcel, at: now)
        return zip(batches, standing).map { $0.1 ?? PlacedStanding(found[$0.0] ?? .closed) }
    }

    /// How batches stand, wherever they are; with a parcel, those that it does not hold are closed.
    fileprivate func standing(
        of batches: [BatchKey],
        within parcel: ParcelID? = nil,
        at now: Int64
    ) throws -> [BatchKey: BatchStanding] {
        let jobs = try RawStatement(
            "SELECT sequence, state, ends, inline_pns, inline_parcel FROM job WHERE id = ? AND state < 10",
            in: self
        )
        let rows = try RawStatement(
            "SELECT parcel FROM batch WHERE job = ? AND pns = ? AND page = ? AND attempt = ? AND open = 1",
            in: self
        )
        defer {
            jobs.reset()
            rows.reset()
        }
        var found: [BatchKey: BatchStanding] = [:]
        found.reserveCapacity(batches.count)
        for key in batches {
            found[key] = .closed
            jobs.reset()
            try jobs.bind(key.job.bytes, at: 1)
            guard try jobs.step() else { continue }
            // Rows and services count from 1: 0 is what NULL reads as.
            let home: Int64
            if key.page == 0, key.attempt == 0, jobs.integer(3) == key.pns.number {
                home = jobs.integer(4)
            } else {
                try rows.restart(jobs.integer(0), Int64(key.pns.number), Int64(key.page), Int64(key.attempt))
                guard try rows.step() else { continue }
                home = rows.integer(0)
            }
            guard parcel == nil || parcel?.number == home else { continue }
            // Whose time is over is not sent, though nobody has looked at the job yet.
            found[key] = try BatchStanding(state: jobs.integer(1), ends: jobs.integer(2), at: now)
        }
        return found
    }
}

extension BatchStanding {
    /// How an open batch of a job stands.
    init(state: Int64, ends: Int64, at now: Int64) throws {
        let cause = try Job.State(number: Int(state)).stopCause ?? (ends <= now ? .expired : nil)
        self = cause.map(Self.stopping) ?? .open
    }
}

/// An open batch that an outcome belongs to.
private struct OutcomeTarget {
    let job: Int64
    let state: Job.State
    let batch: OpenBatch
    let app: Int64
    let priority: Int
    let from: Int64
    let to: Int64
}

extension WriteContext {
    fileprivate func park(_ key: BatchKey, for pause: Duration, reason: String) throws -> Bool {
        try self.writeOutBatch(of: key.job)
        guard let target = try self.target(of: key) else { return true }
        if let cause = target.state.stopCause {
            // Nobody has begun it: it is at no worker any more.
            try self.close(target.batch, of: target.job, as: cause.count)
            try self.completeIfDone(target.job)
            return true
        }
        // One that has been due for long is not fed. Should somebody be publishing it just now, they say so before it is due again.
        let marking = Duration.seconds(20).milliseconds
        let parked = try self.database.change(
            """
            UPDATE batch SET published = -1, due = ? + CASE published WHEN 1 THEN ? ELSE ? END, carried_reason = ?
            WHERE job = ? AND pns = ? AND page = ? AND attempt = ? AND open = 1
                AND (published = 1 OR published = -1 AND due <= ?)
            """,
            [
                self.now, pause.milliseconds, max(pause.milliseconds, marking), String(reason.prefix(200)), target.job,
                key.pns.number, key.page, key.attempt, self.now - marking,
            ]
        )
        // One that rests was given back by a copy of its message, and is published again: this copy is not needed.
        return try parked > 0
            || self.database.exists(
                """
                SELECT 1 FROM batch
                WHERE job = ? AND pns = ? AND page = ? AND attempt = ? AND published = -1 AND due > ?
                """,
                [target.job, key.pns.number, key.page, key.attempt, self.now]
            )
    }

    /// Records an outcome where its batch is still open (rule 3).
    ///
    /// - Parameter outcome: What became of the batch's devices.
    /// - Returns: Whether it was recorded.
    /// - Throws: ``StoreError`` when it does not account for exactly the devices that were carried to this attempt.
    fileprivate func record(_ outcome: BatchOutcome) throws -> Bool {
        guard let target = try self.target(of: outcome.key) else { return false }
        var outcome = outcome
        if target.batch.attempt > 0, outcome.total != target.batch.size {
            throw StoreError(
                .corrupt,
                "an outcome of \(outcome.total) devices for an attempt that \(target.batch.size) were carried to"
            )
        }
        if let cause = target.state.stopCause {
            // A job that is being stopped has no next attempt.
            switch cause {
            case .cancelled: outcome.cancelled += outcome.carried.count
            case .expired: outcome.expired += outcome.carried.count
            }
            outcome.carried = []
        }
        guard try self.fence(outcome, target: target) else { return false }
        try self.markClosed(target.batch, of: target.job)
        try self.insertDeliveries(of: outcome, job: target.job)
        for dead in outcome.deadHandles {
            try self.database.run(
                "INSERT INTO dead_handle(row, handle, before, reason) VALUES (?, ?, ?, ?)",
                [dead.row, dead.handle.text, dead.before.milliseconds, String(dead.reason.prefix(200))]
            )
        }
        self.count(outcome, target: target)
        if outcome.carried.isEmpty {
            try self.completeIfDone(target.job)
        } else {
            try self.insertNextAttempt(of: outcome, target: target)
        }
        return true
    }

    private func target(of key: BatchKey) throws -> OutcomeTarget? {
        let statement = try RawStatement(
            """
            SELECT job.sequence, job.state, batch.size, batch.app, batch.priority, batch.from_id, batch.to_id, batch.parcel
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
            batch: OpenBatch(
                pns: key.pns.number,
                page: key.page,
                attempt: key.attempt,
                size: Int(statement.integer(2)),
                // Rows count from 1: 0 is what NULL reads as.
                parcel: statement.integer(7) == 0 ? nil : statement.integer(7)
            ),
            app: statement.integer(3),
            priority: Int(statement.integer(4)),
            from: statement.integer(5),
            to: statement.integer(6)
        )
    }

    private func fence(_ outcome: BatchOutcome, target: OutcomeTarget) throws -> Bool {
        let statement = try RawStatement(
            """
            INSERT INTO outcome(job, pns, page, attempt, accepted, failed, expired, cancelled, carried, at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
            """,
            in: self.database
        )
        try statement.run(
            target.job,
            [
                target.batch.pns, target.batch.page, target.batch.attempt, outcome.accepted, outcome.failures.count,
                outcome.expired, outcome.cancelled, outcome.carried.count, Int(outcome.at.milliseconds),
            ]
        )
        return self.database.changesCount > 0
    }

    func insertDeliveries(of outcome: BatchOutcome, job: Int64) throws {
        let sql = "INSERT INTO delivery(job, pns, row, class, status, reason, at) VALUES (?, ?, ?, ?, ?, ?, ?)"
        let pns = outcome.key.pns.number
        for row in outcome.acceptedRows {
            try self.database.run(sql, [job, pns, row, CountClass.accepted.number, 0, "", outcome.at.milliseconds])
        }
        for failure in outcome.failures {
            try self.database.run(
                sql,
                [
                    job, pns, failure.row, CountClass.failed(failure.failure).number, failure.status,
                    String(failure.reason.prefix(200)), outcome.at.milliseconds,
                ]
            )
        }
    }

    private func count(_ outcome: BatchOutcome, target: OutcomeTarget) {
        let (job, pns) = (target.job, target.batch.pns)
        if target.batch.attempt == 0 { self.count(outcome.total, of: .targets, job: job, pns: pns) }
        self.count(outcome.accepted, of: .accepted, job: job, pns: pns)
        self.count(outcome.expired, of: .expired, job: job, pns: pns)
        self.count(outcome.cancelled, of: .cancelled, job: job, pns: pns)
        for failure in outcome.failures { self.count(1, of: .failed(failure.failure), job: job, pns: pns) }
    }

    private func insertNextAttempt(of outcome: BatchOutcome, target: OutcomeTarget) throws {
        let due = self.now + CarriedList.leastWait(outcome.carried).milliseconds
        try self.database.run(
            """
            INSERT INTO batch(job, pns, page, attempt, app, priority, from_id, to_id, size, open, published, due, carried,
                carried_reason)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 0, ?, ?, ?)
            """,
            [
                target.job, target.batch.pns, target.batch.page, target.batch.attempt + 1, target.app, target.priority,
                target.from, target.to, outcome.carried.count, due, CarriedList.encode(outcome.carried),
                outcome.carriedReason.map { String($0.prefix(200)) },
            ]
        )
    }
}
