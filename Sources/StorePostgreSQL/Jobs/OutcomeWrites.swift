import PushModel
import Store
import StoreKit
import StoreSQL

/// What is written of a group of outcomes: a statement a table, however many they are.
struct OutcomeWrites {
    private struct Row {
        let outcome: BatchOutcome
        let batch: RecordedBatch

        /// In the order of the table.
        var place: (Int64, Int, Int) { (self.batch.job, self.outcome.key.pns.number, self.outcome.key.page) }
    }

    private let now: Int64
    private let wall: Timestamp
    private let handles: HandleDigest
    private let counts = Counts()
    /// Of inline batches whose devices were all accepted.
    private var accepted: [(outcome: BatchOutcome, job: Int64, message: Int64)] = []
    /// All others.
    private var rows: [Row] = []
    /// Ends calls of hubs that nobody is at any more.
    private var overdue: [SQLStatement] = []
    /// The final states of jobs that end in the same transaction.
    private(set) var ended: [Job.State] = []
    /// Jobs of which a batch is closed, and which may end behind it.
    private(set) var closed: [Int64] = []

    init(clock: StoreClock, handles: HandleDigest) {
        (self.now, self.wall, self.handles) = (clock.now, clock.wall, handles)
    }

    // MARK: Gathering

    /// Records an outcome of an inline batch whose devices were all accepted: its job ends with it.
    mutating func accept(_ outcome: BatchOutcome, job: Int64, message: Int64) {
        self.accepted.append((outcome, job, message))
        self.counts.leave(message: message)
        self.end(job, from: .running, as: .completed)
    }

    /// Records an outcome of an open batch.
    ///
    /// - Throws: ``StoreError`` unless it accounts for exactly the devices of its attempt.
    mutating func record(_ outcome: BatchOutcome, of batch: RecordedBatch, calls: [SQLRow]) throws {
        guard outcome.key.attempt == 0 || outcome.total == batch.size else {
            throw StoreError(
                .corrupt,
                "an outcome of \(outcome.total) devices for an attempt of \(batch.size)"
            )
        }
        if batch.isInline, batch.state == .running, outcome.isAllAccepted, outcome.accepted == batch.size {
            return self.accept(outcome, job: batch.job, message: batch.message)
        }
        var outcome = outcome
        let pns = outcome.key.pns.number
        if let cause = batch.state.stopCause, !outcome.retries.isEmpty {
            outcome.stop(for: cause, calls: try HubCallTable.known(calls, at: self.now))
            if !calls.isEmpty {
                let range = HubCallTable.range(batch.job, pns, from: batch.rows.from, to: batch.rows.to)
                self.overdue.append(HubCallTable.endOverdue(range, now: self.now))
            }
        }
        self.rows.append(Row(outcome: outcome, batch: batch))
        self.counts.leave(message: batch.message)
        let hasOther = WrittenDevice.otherPlatforms[outcome.key.pns] != nil
        for (kind, count) in outcome.counts {
            let platform = hasOther ? batch.platform : nil
            self.counts.add(count, of: kind, job: batch.job, pns: pns, platform: platform)
        }
        guard outcome.retries.isEmpty else { return }
        if batch.isInline {
            // Nothing else is open of it, and its row is held.
            self.end(batch.job, from: batch.state, as: batch.end(behind: outcome, at: self.now))
        } else if self.closed.last != batch.job {
            self.closed.append(batch.job)
        }
    }

    private mutating func end(_ job: Int64, from state: Job.State, as end: Job.State) {
        self.ended.append(end)
        self.counts.count(BacklogChange(from: state, to: end))
    }

    // MARK: Writing

    /// In the order in which rows are held: jobs and batches first, sums last.
    mutating func statements() throws -> [SQLStatement] {
        // Each table is gone through in one order, so that nobody waits in a circle.
        self.accepted.sort { $0.job < $1.job }
        self.rows.sort { $0.place < $1.place }
        let all =
            self.accepted.map { (outcome: $0.outcome, job: $0.job) } + self.rows.map { ($0.outcome, $0.batch.job) }
        guard !all.isEmpty else { return [] }
        var statements = self.acceptance + self.materialization
        if !self.rows.isEmpty {
            statements += [self.asRead(self.rows), self.outcomes, self.closing] + self.completion
        }
        if let devices = DeliveryTable.devices(of: all) { statements.append(devices) }
        statements += self.deadHandles + self.overdue
        let next = try NextAttempt.writes(self.nextAttempts, now: self.now)
        return statements + next + self.counts.setWrites
    }

    private static let accept = JobTransitions(.acceptAllAtHint, varying: [1, 3, 4, 5, 6])

    private var acceptance: [SQLStatement] {
        guard !self.accepted.isEmpty else { return [] }
        let values: [SQLValue] = [
            .array(.integers(self.accepted.map(\.job))), self.wall.sqlValue,
            .array(.integers(self.accepted.map { Int64($0.outcome.key.pns.number) })),
            .array(.integers(self.accepted.map { Int64($0.outcome.accepted) })),
            .array(.integers(self.accepted.map(\.message))),
            .array(.byteStrings(self.accepted.map { Array($0.outcome.key.job.bytes) })),
        ]
        return [Self.accept.statement(values).expecting(self.accepted.count)]
    }

    /// The job is held before: others make its batch a row too.
    private var materialization: [SQLStatement] {
        let inline = self.rows.filter(\.batch.isInline)
        guard !inline.isEmpty else { return [] }
        let jobs = SQLArray.integers(inline.map(\.batch.job))
        return [self.asRead(inline, lock: .update)]
            + OpenBatch.materialization(where: "sequence = ANY(\(jobs))").map { $0.expecting(inline.count) }
    }

    private func integers(_ value: (Row) -> Int64) -> SQLArray { .integers(self.rows.map(value)) }

    /// The names of the batches, as parameters.
    private var keys: SQLStatement {
        """
        \(self.integers { $0.batch.job }), \(self.integers { Int64($0.outcome.key.pns.number) }),
            \(self.integers { Int64($0.outcome.key.page) }), \(self.integers { Int64($0.outcome.key.attempt) })
        """
    }

    /// Goes on only where jobs are in their states still: one that is being stopped has no next attempt.
    ///
    /// One that is stopped from here on may have one, whose worker finds it so, or the sweep.
    private func asRead(_ rows: [Row], lock: SQLLock? = nil) -> SQLStatement {
        let (jobs, states) = (rows.map(\.batch.job), rows.map { Int64($0.batch.state.number) })
        let query: SQLStatement = """
            SELECT 1 AS found FROM unnest(\(SQLArray.integers(jobs)), \(SQLArray.integers(states))) AS known(job, state)
                JOIN job ON job.sequence = known.job AND job.state = known.state ORDER BY job.sequence
            """
        return (lock.map { "\(query)\(lock: $0)" } ?? query).expecting(rows.count)
    }

    private var outcomes: SQLStatement {
        let fence: SQLStatement = """
            INSERT INTO outcome(job, pns, page, attempt, accepted, failed, expired, cancelled, retries)
            SELECT * FROM unnest(\(self.keys), \(self.integers { Int64($0.outcome.accepted) }),
                \(self.integers { Int64($0.outcome.failures.count) }), \(self.integers { Int64($0.outcome.expired) }),
                \(self.integers { Int64($0.outcome.cancelled) }), \(self.integers { Int64($0.outcome.retries.count) }))
            ON CONFLICT DO NOTHING
            """
        return fence.expecting(self.rows.count)
    }

    /// Each batch is found by its key, and not among all that are open.
    private var closing: SQLStatement {
        let closing: SQLStatement = """
            UPDATE batch SET open = 0, retries = NULL
            FROM unnest(\(self.keys), \(self.integers { $0.batch.message })) AS closed(job, pns, page, attempt, message)
            WHERE batch.job = closed.job AND batch.pns = closed.pns AND batch.page = closed.page AND batch.attempt = closed.attempt
                AND +batch.message = closed.message AND +batch.open = 1
            """
        return closing.expecting(self.rows.count)
    }

    /// Ends the jobs of inline batches whose rows are closed, and of which nothing is to be tried again.
    private var completion: [SQLStatement] {
        let jobs = self.rows.filter { $0.batch.isInline && $0.outcome.retries.isEmpty }.map(\.batch.job)
        guard !jobs.isEmpty else { return [] }
        return [
            JobCompletion.complete(.integers(jobs), self.wall, now: self.now).expecting(jobs.count)
        ]
    }

    private var nextAttempts: [(attempt: NextAttempt, app: Int64, priority: Int)] {
        self.rows.filter { !$0.outcome.retries.isEmpty }.map { row in
            let key = row.outcome.key
            let next = NextAttempt(
                of: row.batch.job,
                (key.pns.number, key.page, key.attempt + 1),
                rows: row.batch.rows,
                devices: row.outcome.retries,
                reason: row.outcome.retryReason
            )
            return (next, row.batch.app, row.batch.priority)
        }
    }

    // MARK: Dead handles

    /// Marks registrations (rule 9); a handle of a list is marked at the registration that has it, if one has.
    private var deadHandles: [SQLStatement] {
        let dead = self.rows.flatMap { row in
            row.outcome.deadHandles.map { (handle: $0, app: row.batch.app, pns: row.outcome.key.pns) }
        }
        guard !dead.isEmpty else { return [] }
        let apps = SQLArray.integers(dead.map(\.app))
        let services = SQLArray.integers(dead.map { Int64($0.pns.number) })
        let names = SQLArray.texts(dead.map { $0.handle.credential == .default ? nil : $0.handle.credential.name })
        let rows = dead.map { $0.handle.registration }
        let digests = dead.map { self.digest(of: $0.handle, $0.pns, $0.app) }
        let marks: SQLStatement = """
            INSERT INTO dead_handle("row", handle, credential, before, reason)
            SELECT DISTINCT ON (1, 2, 3) coalesce(dead."row", registration."row"), dead.handle, coalesce(credential.number, 0), dead.before,
                dead.reason
            FROM unnest(\(apps), \(services), \(names), \(SQLArray.integers(rows)), \(SQLArray.byteStrings(digests)),
                \(SQLArray.texts(dead.map { $0.handle.handle.text })), \(SQLArray.integers(dead.map { $0.handle.before.milliseconds })),
                \(SQLArray.texts(dead.map { String($0.handle.reason.prefix(200)) }))
                ) AS dead(app, pns, name, "row", digest, handle, before, reason)
                LEFT JOIN registration ON registration.digest = dead.digest AND registration.\(raw: KeptRegistration.live)
                LEFT JOIN credential ON credential.app = dead.app AND credential.pns = dead.pns AND credential.name = dead.name
            WHERE dead."row" IS NOT NULL OR registration."row" IS NOT NULL ORDER BY 1, 2, 3, 4 DESC
            ON CONFLICT ("row", handle, credential) DO UPDATE SET before = greatest(dead_handle.before, excluded.before)
            """
        let isNamed = dead.contains { $0.handle.credential != .default }
        return (isNamed ? [JobInsertion.mention(apps: apps, services: services, names: names)] : []) + [marks]
    }

    /// By which the registration of a handle of a list is found.
    private func digest(of dead: DeadHandle, _ pns: PushService, _ app: Int64) -> [UInt8]? {
        dead.registration == nil ? self.handles.bytes(of: dead.handle, pns, .native, app: app) : nil
    }
}

extension DeadHandle {
    /// The registration that it was sent to; nil = it is a handle of a list.
    fileprivate var registration: Int64? { Recipient.place(of: self.row) == nil ? self.row : nil }
}

extension RecordedBatch {
    /// In which state its job ends where this was its last outcome, as ``JobTransition/complete`` has it.
    fileprivate func end(behind outcome: BatchOutcome, at now: Int64) -> Job.State {
        switch self.state.stopCause {
        case .cancelled: .cancelled
        case .expired: .expired
        case nil: self.ends <= now && outcome.expired > 0 ? .expired : .completed
        }
    }
}
