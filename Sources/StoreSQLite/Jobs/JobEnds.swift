import Foundation
import GRDB
import PushModel
import Store
import StoreKit

// Ends of jobs: completion (rule 14), cancelling and expiry (rule 13).
extension WriteContext {
    /// Makes a job final where all of its audience is in batches and nothing of it is open.
    func completeIfDone(_ job: Int64) throws {
        let complete = try PreparedTransition(.complete, self)
        try complete.statement.bind(job, at: 1)
        try complete.statement.bind(self.wall.milliseconds, at: 2)
        try complete.statement.bind(self.now, at: 3)
        guard try complete.make() else { return }
        let state = try self.database.first("SELECT state FROM job WHERE sequence = ?", [job]) {
            try Job.State(number: $0[0])
        }
        if let state { self.countFinished(state) }
    }

    /// Stops a running job: its fan-out ends, and devices at no worker are counted.
    func stop(_ job: Int64, cause: StopCause) throws {
        let row = try self.database.first("SELECT state, message, kind FROM job WHERE sequence = ?", [job]) {
            (state: try Job.State(number: $0[0]), message: $0[1] as Int64?, kind: try JobKind(number: $0[2]))
        }
        guard let row else { return }
        // A batch of it keeps its own message; while there was none, the job was a member of one.
        let wasInline = try self.materializeBatch(of: job)
        let stop = try PreparedTransition(cause == .cancelled ? .cancel : .expire, self)
        try stop.statement.bind(job, at: 1)
        try stop.statement.bind(self.now, at: 2)
        guard try stop.make(from: row.state) else { return }
        if !wasInline, let message = row.message { self.leave(message: message) }
        for batch in try self.database.openBatches(of: job, areAtNoWorker: true) {
            try self.closeUnsent(batch, of: job, cause)
        }
        try self.completeIfDone(job)
        if row.kind == .register { try self.forgetHandles(ofFinal: job) }
    }

    /// Counts devices of a stopped job whose workers never recorded an outcome.
    func closeOverdue(_ job: Int64) throws {
        let state = try self.database.first("SELECT state FROM job WHERE sequence = ?", [job]) {
            try Job.State(number: $0[0])
        }
        guard let cause = state?.stopCause else { return }
        for batch in try self.database.openBatches(of: job) { try self.closeUnsent(batch, of: job, cause) }
        try self.completeIfDone(job)
    }

    /// Closes an open batch of a stopped job without an outcome: its devices count as not sent to, but for calls of a hub that were made.
    ///
    /// With a call that is under way it stays open, and a worker looks at it again when that is over.
    func closeUnsent(_ batch: OpenPage, of job: Int64, _ cause: StopCause) throws {
        let row = try self.database.first(
            "SELECT from_id, to_id, retries FROM batch WHERE job = ? AND pns = ? AND page = ? AND attempt = ?",
            [job, batch.pns, batch.page, batch.attempt]
        ) { (from: $0[0] as Int64, to: $0[1] as Int64, retries: $0[2] as Data?) }
        guard let row else { return }
        var calls = try self.calls(of: job, pns: batch.pns, from: row.from, to: row.to)
        if batch.attempt > 0, !calls.isEmpty {
            let rows = Set(try row.retries.map(RetryList.decode)?.map(\.row) ?? [])
            calls = calls.filter { rows.contains($0.key) }
        }
        var counts: [DeliveryCountClass: Int] = [:]
        var left = Duration.zero
        for call in calls.values {
            switch call {
            case .taken: counts[.accepted, default: 0] += 1
            case .unknown: counts[.failed(.unknown), default: 0] += 1
            case .underWay(let time): left = max(left, time)
            case .begun, .withdrawn: break
            }
        }
        guard left == .zero else {
            return try self.database.run(
                "UPDATE message SET due = min(due, ?) WHERE id = ?",
                [self.now + left.milliseconds, batch.message]
            )
        }
        for (number, call) in calls where call == .unknown {
            try self.insert(DeviceFailure(unknownCall: number), of: job, batch.pns, at: self.wall)
        }
        counts[cause.count] = max(0, batch.size - calls.count)
        try self.close(batch, of: job, counts)
    }

    /// Closes an open batch without an outcome of a worker's.
    func close(_ batch: OpenPage, of job: Int64, _ counts: [DeliveryCountClass: Int]) throws {
        let failed = counts.reduce(0) { sum, count in
            if case .failed = count.key { sum + count.value } else { sum }
        }
        try self.database.run(
            """
            INSERT INTO outcome(job, pns, page, attempt, accepted, failed, expired, cancelled, retries)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)
            """,
            [
                job, batch.pns, batch.page, batch.attempt, counts[.accepted] ?? 0, failed, counts[.expired] ?? 0,
                counts[.cancelled] ?? 0,
            ]
        )
        try self.markClosed(batch, of: job)
        let targets: [DeliveryCountClass: Int] = [.targets: batch.attempt == 0 ? batch.size : 0]
        try self.count(
            targets.merging(counts, uniquingKeysWith: +),
            of: job,
            in: (batch.pns, batch.page, batch.attempt)
        )
    }

    /// Ends a send of which nothing was taken.
    ///
    /// Where batches were written before, those are brought to their end instead.
    ///
    /// - Returns: The waiter's routing key, when this ended the job.
    func abandon(_ job: Int64, reason: String) throws -> String? {
        let row = try self.database.first("SELECT message, waiter FROM job WHERE sequence = ?", [job]) {
            (message: $0[0] as Int64?, waiter: $0[1] as String?)
        }
        guard let row else { return nil }
        if try self.database.exists("SELECT 1 FROM batch WHERE job = ? LIMIT 1", [job]) {
            let ended = try self.database.change(
                "UPDATE job SET fanned_out = 1, message = NULL, reason = ? WHERE sequence = ? AND fanned_out = 0",
                [reason, job]
            )
            if ended > 0, let message = row.message { self.leave(message: message) }
            try self.completeIfDone(job)
            return nil
        }
        let abandon = try PreparedTransition(.abandon, self)
        try abandon.statement.bind(job, at: 1)
        try abandon.statement.bind(self.wall.milliseconds, at: 2)
        try abandon.statement.bind(reason, at: 3)
        guard try abandon.make() else { return nil }
        if let message = row.message { self.leave(message: message) }
        return row.waiter
    }

    /// Ends a register job; a job that is refused is abandoned.
    ///
    /// - Parameters:
    ///   - id: The job.
    ///   - result: The result.
    ///   - text: The result as JSON.
    /// - Returns: The waiter's routing key, when this ended the job.
    /// - Throws: SQLite's error.
    func finishRegister(_ id: JobID, result: RegisterResult, text: String) throws -> String? {
        let row = try self.database.first("SELECT sequence, message, waiter FROM job WHERE id = ?", [id.blob]) {
            (sequence: $0[0] as Int64, message: $0[1] as Int64?, waiter: $0[2] as String?)
        }
        guard let row else { return nil }
        var (state, reason) = (Job.State.completed, String?.none)
        if case .refused(let words) = result { (state, reason) = (.abandoned, words) }
        let finish = try PreparedTransition(.finishRegister, self)
        try finish.statement.bind(row.sequence, at: 1)
        try finish.statement.bind(Int64(state.number), at: 2)
        try finish.statement.bind(reason, at: 3)
        try finish.statement.bind(text, at: 4)
        try finish.statement.bind(self.wall.milliseconds, at: 5)
        guard try finish.make() else { return nil }
        self.countFinished(state)
        if let message = row.message { self.leave(message: message) }
        return row.waiter
    }
}

extension StopCause {
    /// The count of a device that is not sent to.
    var count: DeliveryCountClass {
        switch self {
        case .cancelled: .cancelled
        case .expired: .expired
        }
    }
}

extension Job.State {
    /// Why the job is being stopped, if it is.
    var stopCause: StopCause? {
        switch self {
        case .cancelling: .cancelled
        case .expiring: .expired
        case .scheduled, .queued, .running, .retrying, .completed, .abandoned, .cancelled, .expired: nil
        }
    }
}
