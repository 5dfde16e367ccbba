package import PushModel

/// Where delivery workers leave what became of their batches (rules 3, 8 and 14).
package protocol OutcomeSink: Sendable {
    /// How these batches stand; one that is closed, of a final job, or unknown is ``BatchStanding/closed``.
    ///
    /// Asked before sending, and every 500 ms while sending (rule 13). Whose time is over is ``BatchStanding/stopping(_:)``, also
    /// where nobody has stopped the job yet.
    func standing(of batches: [BatchKey]) async throws -> [BatchKey: BatchStanding]

    /// How these batches of a parcel stand, each in its turn; one that the parcel no longer holds is ``BatchStanding/closed`` for it:
    /// the parcel was taken apart, and the batch goes by itself.
    func standing(of batches: [BatchKey], in parcel: ParcelID) async throws -> [PlacedStanding]

    /// Records an outcome, once: failures, counts, dead handles and the next attempt in one change; completes the job where
    /// that was its last open batch.
    ///
    /// - Returns: false when an outcome of that batch and attempt stands already; then nothing was changed.
    func record(_ outcome: BatchOutcome) async throws -> Bool

    /// Records several outcomes in one change, each as one does by itself.
    ///
    /// - Returns: For each whether it was recorded.
    /// - Throws: ``StoreError``; then none is.
    func record(together outcomes: [BatchOutcome]) async throws -> [Bool]

    /// Has every open batch of a parcel be published for itself, at once.
    func takeApart(_ parcel: ParcelID) async throws

    /// Gives a batch back that was not begun: it is due after `pause`, and counts for its window until then (rule 12). One whose
    /// job is being stopped is closed instead.
    ///
    /// - Parameters:
    ///   - batch: The batch.
    ///   - pause: How long it rests.
    ///   - reason: What it waits for, for whoever asks.
    /// - Returns: Whether its message is done with, also where a copy of it has given the batch back; false while the store does
    ///   not know that it is at the broker: who marks it so later would undo this.
    /// - Throws: ``StoreError``.
    func park(_ batch: BatchKey, for pause: Duration, reason: String) async throws -> Bool

    /// Takes a parcel apart and gives its open batches back, as ``park(_:for:reason:)-(BatchKey,_,_)`` does.
    func park(_ parcel: ParcelID, for pause: Duration, reason: String) async throws

    /// Counts that a redelivered batch was begun once more (rule 5).
    ///
    /// - Returns: How often it was begun so; 0 where it is closed.
    func raiseStarts(batch: BatchKey) async throws -> Int

    /// Whose these registrations are, an element for each that is live; nil = nobody's.
    ///
    /// Asked when a push service calls their tokens dead: it says how much that tells of others.
    func users(ofLive rows: [Int64]) async throws -> [UserName?]
}

/// Whether a batch is still to be worked on.
package enum BatchStanding: Sendable, Equatable {
    case open
    /// Open, and its job is being stopped: count what is unsent as cancelled or expired.
    case stopping(StopCause)
    case closed
}

/// How a batch of a parcel stands, and where.
package struct PlacedStanding: Sendable, Equatable {
    package let standing: BatchStanding
    /// nil where it is to be looked for by its key.
    package let place: BatchPlace?

    package init(_ standing: BatchStanding, place: BatchPlace? = nil) {
        self.standing = standing
        self.place = place
    }
}

/// Where the store has found a batch: it looks there first.
package struct BatchPlace: Sendable, Equatable {
    /// The job's number in the store.
    package let job: Int64
    package let parcel: ParcelID

    package init(job: Int64, parcel: ParcelID) {
        self.job = job
        self.parcel = parcel
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
    package var place: BatchPlace?
    /// Devices that the push service took.
    package var accepted: Int
    /// The rows of those, where the app records all; else empty.
    package var acceptedRows: [Int64]
    package var failures: [DeviceFailure]
    package var expired: Int
    package var cancelled: Int
    /// Devices to try again, in the next attempt.
    package var carried: [CarriedDevice]
    /// Why they are carried, for whoever asks what the job waits for.
    package var carriedReason: String?
    /// Handles that the push service says are dead.
    package var deadHandles: [DeadHandle]
    /// When it was sent.
    package var at: Timestamp

    package init(
        key: BatchKey,
        place: BatchPlace? = nil,
        accepted: Int = 0,
        acceptedRows: [Int64] = [],
        failures: [DeviceFailure] = [],
        expired: Int = 0,
        cancelled: Int = 0,
        carried: [CarriedDevice] = [],
        carriedReason: String? = nil,
        deadHandles: [DeadHandle] = [],
        at: Timestamp
    ) {
        self.key = key
        self.place = place
        self.accepted = accepted
        self.acceptedRows = acceptedRows
        self.failures = failures
        self.expired = expired
        self.cancelled = cancelled
        self.carried = carried
        self.carriedReason = carriedReason
        self.deadHandles = deadHandles
        self.at = at
    }

    /// n = accepted + failed + expired + cancelled + carried.
    package var total: Int {
        self.accepted + self.failures.count + self.expired + self.cancelled + self.carried.count
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
package struct CarriedDevice: Sendable, Equatable {
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
