package import PushModel

/// The result for one device of a ``PushRequest``: the push service's answer, classified once.
package enum DeviceResult: Sendable, Equatable {
    /// The service took it; no proof that it was shown.
    case accepted
    /// Not now: try it again later.
    ///
    /// `after` is the shortest wait that the service asked for, or nil to leave it to the retry policy. `counts` is false where
    /// the service processed nothing (no connection, refused), so that the try should not count against the device.
    case retry(after: Duration?, scope: RetryScope, counts: Bool, reason: String, status: Int?)
    /// The handle is dead: prune it if it was last registered before that moment.
    case dead(before: Timestamp, reason: String, status: Int?)
    /// The service will never take this notification for this device; the registration stays.
    case rejected(reason: String, status: Int?)
    /// Credentials, topic or project are wrong: all traffic of this sender will fail until a person acts. Without a status no request
    /// for the device was made. Senders read the reason; `detail` is what the service says of the app's account there, which is for who
    /// operates it: for the log, and for doctor.
    case misconfigured(reason: String, status: Int?, detail: String? = nil)
    /// Stopped or out of time before it was sent: retry it without counting a try.
    case unsent
    /// It left and no answer came: it may or may not have been delivered.
    case unanswered(reason: String)
    /// It may or may not have been taken, and must not be tried again (rule 18).
    case unknown(reason: String)
    /// Nothing was sent: the store has what became of it before. This says nothing about the service.
    case settled(Settled)
    /// It went with another one in one call, and has its result: together they are one answer of the service.
    indirect case together(DeviceResult)

    /// What the store has of an earlier try.
    package enum Settled: Sendable, Equatable {
        /// It was taken.
        case accepted
        /// Whoever was at it died before the answer came.
        case unknown
        /// Another process is at it, for so long at most.
        case underWay(Duration)
    }
}

/// The scope of the wait of a ``DeviceResult/retry(after:scope:counts:reason:status:)``.
package enum RetryScope: Sendable, Equatable {
    /// Only this device.
    case device
    /// All that goes through this sender.
    case sender
}
