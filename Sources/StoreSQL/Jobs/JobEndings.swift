package import PushModel
import Store
package import StoreKit

/// The value of a transaction, and the final states of jobs that came to their end in it.
package struct Ended<Value: Sendable>: Sendable {
    package let value: Value
    package let states: [Job.State]
    /// Jobs of which batches were closed, and which have not ended: whether something of them is open still is to be asked again behind
    /// the transaction, where others may have closed the rest at the same time.
    package let closed: [Int64]

    package init(value: Value, states: [Job.State], closed: [Int64] = []) {
        (self.value, self.states, self.closed) = (value, states, closed)
    }
}

/// The writes by which batches end without a worker's outcome, and jobs with them, gathered for one transaction.
package struct JobEndings {
    package let now: Int64
    package let wall: Timestamp
    private var writes: [SQLStatement] = []
    private var counts = Counts()
    /// Unfinished jobs that are complete where nothing of them is open.
    private var completing: [Int64] = []
    /// What comes behind the ends.
    private var last: [SQLStatement] = []
    private var ended: [Job.State] = []

    package init(_ clock: StoreClock) { (self.now, self.wall) = (clock.now, clock.wall) }

    package mutating func add(_ statements: SQLStatement...) { self.writes += statements }

    package mutating func add(_ statements: [SQLStatement]) { self.writes += statements }

    mutating func addLast(_ statement: SQLStatement) { self.last.append(statement) }

    /// Goes on only where a job, which was read, is in its state and message still.
    mutating func expect(_ job: SQLRow) throws {
        let isAsRead: SQLStatement = """
            SELECT 1 AS found FROM job WHERE sequence = \(try job["sequence"] as Int64)
                AND state = \(raw: "\(try Job.State(number: job["state"]).number)")
                AND message IS NOT DISTINCT FROM \(try job["message"] as Int64?) \(lock: .update)
            """
        self.add(isAsRead.expecting(1))
    }

    /// Changes a job's state, which was read.
    package mutating func make(
        _ transition: JobTransition,
        of job: Int64,
        from state: Job.State,
        to end: Job.State? = nil,
        _ values: any SQLConvertible...
    ) {
        self.writes.append(SQLStatement(transition.sql, [job] + values).expecting(1))
        if let change = transition.effect(from: state) { self.counts.count(change) }
        if let end = end ?? transition.end { self.ended.append(end) }
    }

    /// Counts a change of so many jobs' states, which is written by another statement.
    package mutating func count(_ transition: JobTransition, of jobs: Int) {
        guard let change = transition.effect() else { return }
        for _ in 0..<jobs {
            self.counts.count(change)
            if let end = transition.end { self.ended.append(end) }
        }
    }

    mutating func leave(message: Int64) { self.counts.leave(message: message) }

    mutating func count(_ counts: [DeliveryCountClass: Int], of batch: OpenBatch.Key, platform: String?) {
        for (kind, count) in counts {
            self.counts.add(count, of: kind, job: batch.job, pns: batch.pns, platform: platform)
        }
    }

    /// Makes a job final where all of its audience is in batches, and nothing of it is open then.
    package mutating func completeIfDone(_ job: Int64) { self.completing.append(job) }

    mutating func materialize(_ job: Int64) {
        self.writes += OpenBatch.materialization(of: job).map { $0.expecting(1) }
    }

    /// Closes an open batch, which has a row, without an outcome of a worker's.
    mutating func close(
        _ batch: OpenBatch,
        _ counts: [DeliveryCountClass: Int],
        failures: [DeviceFailure],
        keeping retries: [UInt8]? = nil
    ) {
        let key = batch.key
        let failed = counts.reduce(0) { sum, count in
            if case .failed = count.key { sum + count.value } else { sum }
        }
        // It leaves the message that it was read in: another may have split that since.
        let closing: SQLStatement = """
            UPDATE batch SET open = 0, retries = \(retries) WHERE \(key.condition) AND message = \(batch.message) AND open = 1
            """
        self.writes += DeliveryTable.failures(failures, of: key.job, key.pns, at: self.wall)
        self.add(
            """
            INSERT INTO outcome(job, pns, page, attempt, accepted, failed, expired, cancelled, retries)
            VALUES (\(key.job), \(key.pns), \(key.page), \(key.attempt), \(counts[.accepted] ?? 0), \(failed),
                \(counts[.expired] ?? 0), \(counts[.cancelled] ?? 0), 0)
            """,
            closing.expecting(1)
        )
        self.leave(message: batch.message)
        let targets: [DeliveryCountClass: Int] = [.targets: key.attempt == 0 ? batch.size : 0]
        self.count(targets.merging(counts, uniquingKeysWith: +), of: key, platform: batch.platform)
    }

    /// Closes an open batch of a stopped job, which has a row: its devices count as not sent to, but for calls of a hub that were made.
    ///
    /// With a call that is under way it stays open, and a worker looks at it again when that is over.
    mutating func closeUnsent(_ batch: OpenBatch, calls: [SQLRow], _ cause: StopCause) throws {
        let range = HubCallTable.range(batch.key.job, batch.key.pns, from: batch.rows.from, to: batch.rows.to)
        if Recipient.place(of: batch.rows.to) != nil {
            // One may have begun since they were read; none does behind the change that stops the job.
            self.add(try HubCallTable.underWay(range, as: calls))
        }
        if !calls.isEmpty { self.add(HubCallTable.endOverdue(range, now: self.now)) }
        let known = try HubCallTable.known(calls, at: self.now)
        let retries = try batch.key.attempt > 0 ? RetryList.decode(batch.retries ?? []) : nil
        switch UnsentBatch(size: batch.size, retries: retries, calls: known, cause: cause) {
        case .open(let left):
            let due = self.now + left.milliseconds
            self.add("UPDATE message SET due = \(due) WHERE id = \(batch.message) AND due > \(due)")
        case .closed(let counts, let unknown):
            self.close(batch, counts, failures: unknown.map { DeviceFailure(unknownCall: $0) })
        }
    }

    /// All of them, in the order in which rows are held: jobs and batches first, sums last.
    ///
    /// Of two that close the last two batches of a job neither would see the other's: so they hold the job, and the later sees them. The
    /// outcomes of a job would wait for each other so: whoever records them asks in a transaction behind it (``JobCompletion``), and so does
    /// whoever has closed a batch here beside one of theirs.
    package func decision<Value: Sendable>(_ value: Value) -> SQLDecision<Ended<Value>> {
        let held: SQLStatement = """
            SELECT sequence FROM job WHERE sequence IN (\(numbers: self.completing)) ORDER BY sequence\(lock: .update)
            """
        let first = (self.completing.isEmpty ? [] : [held]) + self.writes
        let completions = self.completing.map { job -> SQLStatement in
            SQLStatement(JobTransition.complete.sql + " RETURNING state", [job, self.wall, self.now])
        }
        let backlog = completions.isEmpty ? [] : [Self.backlog(of: self.completing)]
        let (ended, places) = (self.ended, first.count..<first.count + completions.count)
        let writes = first + completions + self.last + self.counts.writes + backlog
        let completing = self.completing
        guard !completions.isEmpty else {
            return SQLDecision(writing: writes, giving: Ended(value: value, states: ended))
        }
        return SQLDecision(writing: writes) { answers in
            let completed = try answers[places].flatMap(\.rows).map { try Job.State(number: $0["state"]) }
            let closed = completed.count < completing.count ? completing : []
            return Ended(value: value, states: ended + completed, closed: closed)
        }
    }

    /// Counts those of some jobs for the backlog that this transaction has made final: another may have done so since they were read.
    static func backlog(of jobs: [Int64]) -> SQLStatement {
        """
        UPDATE backlog SET unfinished = unfinished - (
            SELECT count(*) FROM job WHERE sequence IN (\(numbers: jobs)) AND finished IS NOT NULL
                /*! AND xmin = CAST(pg_current_xact_id() AS xid)*/)
            \(Counts.ownBacklog)
        """
    }
}
