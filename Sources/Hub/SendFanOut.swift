package import PushModel
package import Store

/// Divides sends into batches for the delivery workers, in steps that each are committed (rules 2 and 4).
///
/// A target is a device, or a call of a hub over a wire: both stand in batches.
package protocol SendFanOut: Sendable {
    /// Continues the sends of a message for at most about `budget`, and returns the position reached (rule 4).
    ///
    /// - Throws: ``HubError``; after ``HubError/Kind/refused`` nothing was taken: a send alone in its message is
    ///   abandoned, and a group is split.
    func advance(_ claim: FanOutClaim, spec: AppSpec, budget: Duration) async throws -> Advance

    /// Publishes delivery messages that the caller has taken from the outbox: retries, and messages left by a crash or
    /// a broker outage (rule 1).
    func resume(_ messages: [OutboxMessage], specs: [AppID: AppSpec]) async throws

    /// Runs the background work until the task is cancelled, and completes it before it returns.
    func run() async
}

/// How far ``SendFanOut/advance(_:spec:budget:)`` came.
package struct Advance: Sendable {
    /// Where a message can go on.
    package enum Progress: Sendable {
        /// More is to be done, from this claim on, after a pause.
        case more(FanOutClaim, after: Duration)
        /// All remaining sends wait for credit of these services (rule 12), at least until the pause is over.
        case blocked(FanOutClaim, on: Set<PushService>, after: Duration)
        /// The hub has all of it.
        case done
        /// Another process has the message, or its sends were stopped.
        case lost
    }

    /// A job that the hub has answered, and its waiter.
    package struct Answered: Sendable, Equatable {
        package let job: JobID
        /// The routing key of the process that waits.
        package let waiter: String

        package init(job: JobID, waiter: String) {
            self.job = job
            self.waiter = waiter
        }
    }

    package var progress: Progress
    /// Jobs answered by this step, whose waiters are to be notified.
    package var answered: [Answered]
    /// Whether anything was committed: a fan-out that only waits has its message deferred after a while.
    package var hasCommitted: Bool

    package init(_ progress: Progress, answered: [Answered] = [], hasCommitted: Bool = false) {
        self.progress = progress
        self.answered = answered
        self.hasCommitted = hasCommitted
    }
}
