package import PushModel

/// The outcome of a batch.
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
    package var retryReason: WaitReason?
    /// Handles that the push service reported as dead.
    package var deadHandles: [DeadHandle]
    /// When it was sent.
    package var at: Timestamp
    /// Whether nothing was really sent; the store does not keep it here, metrics leave it out.
    package var isDryRun = false

    package init(
        key: BatchKey,
        hint: RowHint? = nil,
        accepted: Int = 0,
        acceptedRows: [Int64] = [],
        failures: [DeviceFailure] = [],
        expired: Int = 0,
        cancelled: Int = 0,
        retries: [RetryDevice] = [],
        retryReason: WaitReason? = nil,
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
