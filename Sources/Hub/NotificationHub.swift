package import PushModel
package import Store

/// What registers devices and takes sends: our own embedded hub, or one that is spoken to over a wire.
package protocol NotificationHub: Sendable {
    /// Applies a change to the registrations. Doing the same change again gives the same result.
    ///
    /// - Parameters:
    ///   - request: The change.
    ///   - job: The register job: its app, user and sequence.
    ///   - spec: The app's declaration.
    /// - Returns: What the hub made of the change; a refusal is a result, not an error.
    /// - Throws: ``HubError``; with ``HubError/Code/unavailable`` the job is tried again later.
    func register(_ request: RegisterRequest, for job: Job, spec: AppSpec) async throws -> RegisterResult

    /// Takes the sends of a message further for at most about `budget`, and returns where it can go on (rule 4).
    ///
    /// - Throws: ``HubError``; with ``HubError/Code/refused`` the hub took nothing: a send that is alone in its message is abandoned,
    ///   others go on each alone.
    func advance(_ claim: FanOutClaim, spec: AppSpec, budget: Duration) async throws -> Advance

    /// Publishes delivery messages again that the caller has taken from the outbox: retries, and what a crash or a lost broker left
    /// behind (rule 1).
    func resume(_ messages: [OutboxMessage], specs: [AppID: AppSpec]) async throws

    /// Does what the hub does behind its answers, until the task is cancelled; what is left then is done before this returns.
    func run() async
}

/// How far ``NotificationHub/advance(_:spec:budget:)`` came.
package struct Advance: Sendable {
    /// Where a message can go on.
    package enum Progress: Sendable {
        /// More is to be done, from this claim on, after a pause.
        case more(FanOutClaim, after: Duration)
        /// All that is left waits for credit of these services (rule 12); there is none before the pause is over.
        case blocked(FanOutClaim, on: Set<PushService>, after: Duration)
        /// The hub has all of it.
        case done
        /// Another process has the message, or its sends were stopped.
        case lost
    }

    /// A job that the hub has answered, and whoever waits for that.
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
    /// Jobs whose answers stand in the store since: who waits for them is to be told.
    package var answered: [Answered]
    /// Whether anything was committed: a fan-out that only waits has its message deferred after a while.
    package var hasCommitted: Bool

    package init(_ progress: Progress, answered: [Answered] = [], hasCommitted: Bool = false) {
        self.progress = progress
        self.answered = answered
        self.hasCommitted = hasCommitted
    }
}

/// What went wrong at a hub.
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
