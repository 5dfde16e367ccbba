package import PushModel
package import Store

/// The effect of a dead letter: the column `closed` of the table `dead`.
package enum DeadLetterEffect: Int, Sendable {
    case nothing = 0
    case batch = 1
    case register = 2
    case send = 3
}

extension IncomingDeadLetter {
    /// Distinguishes bodies under one message id: FNV-1a.
    package var digest: Int64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in self.body { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return Int64(bitPattern: hash)
    }
}

/// The job of a dead letter, as it is now.
package struct DeadLetterJob: Sendable {
    package let sequence: Int64
    let state: Job.State
    let expires: Timestamp
    /// By the store's clock.
    let ends: Int64?
    let isCleared: Bool
    let isEmptied: Bool

    package init(
        sequence: Int64,
        state: Job.State,
        expires: Timestamp,
        ends: Int64?,
        isCleared: Bool,
        isEmptied: Bool
    ) {
        self.sequence = sequence
        self.state = state
        self.expires = expires
        self.ends = ends
        self.isCleared = isCleared
        self.isEmptied = isEmptied
    }

    /// Why nothing of it can be replayed.
    func blockedReason(at now: Int64) -> String? {
        switch self.state {
        case .cancelling, .cancelled: return "its job was cancelled"
        case .expiring, .expired: return "its job expired"
        case .scheduled, .queued, .running, .retrying, .completed, .abandoned: break
        }
        if let ends, ends <= now { return "its job expired at \(self.expires.iso8601)" }
        if self.isEmptied { return "its content was removed with a user" }
        return self.isCleared ? "its job is being removed" : nil
    }
}

/// A batch whose devices all count as dead.
package struct DeadLetterPage: Sendable {
    package let key: BatchKey
    /// The devices' range in the audience.
    package let rows: (from: Int64, to: Int64)
    package let size: Int
    /// Whether the devices of a later attempt are still known.
    let hasRetries: Bool
    /// The number of the template that it is for; nil = of none.
    package let template: Int64?

    package init(key: BatchKey, rows: (from: Int64, to: Int64), size: Int, hasRetries: Bool, template: Int64?) {
        self.key = key
        self.rows = rows
        self.size = size
        self.hasRetries = hasRetries
        self.template = template
    }
}

/// A dead letter as it is kept, with what it closed as that is now.
package struct KeptDeadLetter: Sendable {
    /// Among all apps'.
    package let id: Int64
    let messageID: String
    let effect: DeadLetterEffect
    /// Of a register job: whether its work is still stored.
    let hasWork: Bool
    /// The id of the job that it closed, or of whose batches it closed one.
    let jobID: JobID?
    /// That job; nil = it is not kept any more.
    let job: DeadLetterJob?
    /// The batch that it closed; nil = none, or one that does not count as dead.
    let page: DeadLetterPage?

    package init(
        id: Int64,
        messageID: String,
        effect: DeadLetterEffect,
        hasWork: Bool,
        jobID: JobID?,
        job: DeadLetterJob?,
        page: DeadLetterPage?
    ) {
        self.id = id
        self.messageID = messageID
        self.effect = effect
        self.hasWork = hasWork
        self.jobID = jobID
        self.job = job
        self.page = page
    }
}

/// What a replay of a dead letter would repeat.
package enum DeadLetterWork: Sendable {
    case batch(DeadLetterPage, sequence: Int64)
    case job(JobID, sequence: Int64, JobKind)
    /// Nothing that could be replayed, for that reason.
    case nothing(String)

    package init(of letter: KeptDeadLetter, at now: Int64) {
        guard letter.effect != .nothing else {
            // It is kept all the same.
            self = .nothing(
                MessageID(letter.messageID) == nil
                    ? "it names no work, so it is not known what it was for"
                    : "it was a copy: its work continues or has finished"
            )
            return
        }
        guard let id = letter.jobID, let job = letter.job else {
            self = .nothing("its job is no longer kept")
            return
        }
        if let reason = job.blockedReason(at: now) {
            self = .nothing(reason)
            return
        }
        switch letter.effect {
        case .batch: self = Self.batch(letter.page, of: job)
        case .send: self = .job(id, sequence: job.sequence, .send)
        case .register, .nothing:
            self =
                letter.hasWork
                ? .job(id, sequence: job.sequence, .register) : .nothing("its handle was removed")
        }
    }

    private static func batch(_ page: DeadLetterPage?, of job: DeadLetterJob) -> DeadLetterWork {
        guard let page else { return .nothing("its batch does not count as dead") }
        guard page.key.attempt == 0 || page.hasRetries else { return .nothing("its devices are no longer known") }
        return .batch(page, sequence: job.sequence)
    }

    /// Why it cannot be replayed now; nil = it can.
    package var blockedReason: String? { if case .nothing(let reason) = self { reason } else { nil } }
}
