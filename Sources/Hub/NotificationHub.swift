package import PushModel
package import Store

/// A service that registers devices and takes sends: the embedded hub, or one behind a network protocol.
package protocol NotificationHub: Sendable {
    /// Applies a change to the registrations.
    ///
    /// A repeat has the same result.
    ///
    /// - Parameters:
    ///   - request: The change.
    ///   - job: The register job: its app, user and sequence.
    ///   - spec: The app's declaration.
    /// - Returns: The hub's result; a refusal is a result, not an error. nil = a part is done, and another call goes on.
    /// - Throws: ``HubError``; after ``HubError/Code/unavailable`` the job is retried later.
    func register(_ request: RegisterRequest, for job: Job, spec: AppSpec) async throws -> RegisterResult?

    /// Continues the sends of a message for at most about `budget`, and returns the position reached (rule 4).
    ///
    /// - Throws: ``HubError``; after ``HubError/Code/refused`` nothing was taken: a send alone in its message is
    ///   abandoned, and a group is split.
    func advance(_ claim: FanOutClaim, spec: AppSpec, budget: Duration) async throws -> Advance

    /// Publishes delivery messages that the caller has taken from the outbox: retries, and messages left by a crash or
    /// a broker outage (rule 1).
    func resume(_ messages: [OutboxMessage], specs: [AppID: AppSpec]) async throws

    /// Runs the hub's background work until the task is cancelled, and completes it before it returns.
    func run() async
}

/// How far ``NotificationHub/advance(_:spec:budget:)`` came.
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

/// A failure of a hub.
package struct HubError: Error, Sendable, CustomStringConvertible {
    /// The kind of fault.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case unavailable, refused }
        private let base: Base

        /// The hub cannot answer now; trying later may help.
        package static let unavailable = Code(base: .unavailable)
        /// The hub will never take this.
        package static let refused = Code(base: .refused)

        package var description: String { self.base.rawValue }
    }

    package let code: Code
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { "\(self.message) (\(self.code))" }
}
