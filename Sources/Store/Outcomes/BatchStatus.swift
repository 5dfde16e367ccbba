package import PushModel

/// Whether a batch is still to be worked on.
package enum BatchStatus: Sendable, Equatable {
    case open
    /// Open, and its job is being stopped: unsent devices count as cancelled or expired.
    case stopping(StopCause)
    case closed
}

/// How a batch stands, and where.
package struct LocatedStatus: Sendable, Equatable {
    package let status: BatchStatus
    /// nil if it is to be looked for by its key.
    package let hint: RowHint?
    /// When its job was accepted, or was to start; nil if it is closed.
    package let began: Timestamp?
    /// The routing key of the process that waits for its job, if one does.
    package let waiter: String?
    /// The request that asked for its job, if that is known.
    package let request: RequestID?

    package init(
        _ status: BatchStatus,
        hint: RowHint? = nil,
        began: Timestamp? = nil,
        waiter: String? = nil,
        request: RequestID? = nil
    ) {
        self.status = status
        self.hint = hint
        self.began = began
        self.waiter = waiter
        self.request = request
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
