package import PushModel

/// Where delivery workers leave what became of their batches (rules 3, 8 and 14).
package protocol OutcomeSink: Sendable {
    /// How these batches stand, in their order; one that is closed, of a final job, or unknown is ``BatchStatus/closed``.
    ///
    /// Asked before sending, and every 500 ms while sending (rule 13). A batch whose job's time is over is ``BatchStatus/stopping(_:)``,
    /// also where nobody has stopped the job yet.
    ///
    /// - Parameters:
    ///   - batches: The batches.
    ///   - message: The message that they came in: one that it does not stand for any more is closed for it, and goes its own way; nil
    ///     = whatever message they are in.
    /// - Returns: How each stands, and where.
    /// - Throws: ``StoreError``.
    func status(of batches: [BatchKey], in message: MessageID?) async throws -> [LocatedStatus]

    /// Records outcomes in one change, each on its own and once: failures, counts, dead handles and the next attempt; completes a job
    /// where that was its last open batch.
    ///
    /// - Returns: For each whether it was recorded; false when an outcome of that batch and attempt stands already.
    /// - Throws: ``StoreError``; then none is.
    func record(_ outcomes: [BatchOutcome]) async throws -> [Bool]

    /// Whose these registrations are, an element for each that is live; nil = nobody's.
    ///
    /// Asked when a push service calls their tokens dead: it says how much that tells of others.
    func users(ofLive rows: [Int64]) async throws -> [UserName?]
}

/// Whether a batch is still to be worked on.
package enum BatchStatus: Sendable, Equatable {
    case open
    /// Open, and its job is being stopped: count what is unsent as cancelled or expired.
    case stopping(StopCause)
    case closed
}

/// How a batch stands, and where.
package struct LocatedStatus: Sendable, Equatable {
    package let status: BatchStatus
    /// nil where it is to be looked for by its key.
    package let hint: RowHint?
    /// When its job was accepted, or was to start; nil where it is closed.
    package let began: Timestamp?

    package init(_ status: BatchStatus, hint: RowHint? = nil, began: Timestamp? = nil) {
        self.status = status
        self.hint = hint
        self.began = began
    }
}

/// Where the store has found a batch: it looks there first.
package struct RowHint: Sendable, Equatable {
    /// The job's number in the store.
    package let job: Int64
    package let message: MessageID

    package init(job: Int64, message: MessageID) {
        self.job = job
        self.message = message
    }
}

/// Why a job is stopped.
package enum StopCause: Sendable, Equatable {
    case cancelled
    case expired
}

/// What became of the devices of a batch.
///
/// Each device is in exactly one place (rule 3).
package struct BatchOutcome: Sendable {
    package var key: BatchKey
    /// Where it was found before, if it was.
    package var hint: RowHint?
    /// When its job was accepted, or was to start, if that is known; the store does not keep it here.
    package var began: Timestamp?
    /// Devices that the push service took.
    package var accepted: Int
    /// The rows of those, where the app records all; else empty.
    package var acceptedRows: [Int64]
    package var failures: [DeviceFailure]
    package var expired: Int
    package var cancelled: Int
    /// Devices to try again, in the next attempt.
    package var retries: [RetryDevice]
    /// Why they are tried again, for whoever asks what the job waits for.
    package var retryReason: String?
    /// Handles that the push service says are dead.
    package var deadHandles: [DeadHandle]
    /// When it was sent.
    package var at: Timestamp

    package init(
        key: BatchKey,
        hint: RowHint? = nil,
        accepted: Int = 0,
        acceptedRows: [Int64] = [],
        failures: [DeviceFailure] = [],
        expired: Int = 0,
        cancelled: Int = 0,
        retries: [RetryDevice] = [],
        retryReason: String? = nil,
        deadHandles: [DeadHandle] = [],
        at: Timestamp
    ) {
        self.key = key
        self.hint = hint
        self.accepted = accepted
        self.acceptedRows = acceptedRows
        self.failures = failures
        self.expired = expired
        self.cancelled = cancelled
        self.retries = retries
        self.retryReason = retryReason
        self.deadHandles = deadHandles
        self.at = at
    }

    /// n = accepted + failed + expired + cancelled + retries.
    package var total: Int {
        self.accepted + self.failures.count + self.expired + self.cancelled + self.retries.count
    }
}

/// A device that failed for good.
package struct DeviceFailure: Sendable, Equatable {
    package let row: Int64
    package let failure: FailureClass
    /// The push service's status; 0 = it gave none.
    package let status: Int
    /// The push service's own word, shortened to 200 characters by the store.
    package let reason: String

    package init(row: Int64, failure: FailureClass, status: Int, reason: String) {
        self.row = row
        self.failure = failure
        self.status = status
        self.reason = reason
    }
}

/// A device that is to be tried again.
package struct RetryDevice: Sendable, Equatable {
    package let row: Int64
    /// How often it was tried.
    package let tries: Int
    /// How long until it may be tried.
    ///
    /// In an outcome: from now. In a ``DueBatch``: from the batch's due time.
    package let wait: Duration

    package init(row: Int64, tries: Int, wait: Duration) {
        self.row = row
        self.tries = tries
        self.wait = wait
    }
}

/// A handle that a push service called dead (rule 9).
package struct DeadHandle: Sendable, Equatable {
    package let row: Int64
    package let handle: Handle
    /// Only a registration that was last updated before this is pruned: the push service's own moment, or that of sending.
    package let before: Timestamp
    /// The push service's word.
    package let reason: String

    package init(row: Int64, handle: Handle, before: Timestamp, reason: String) {
        self.row = row
        self.handle = handle
        self.before = before
        self.reason = reason
    }
}
