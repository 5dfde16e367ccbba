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

    /// Takes a send further for at most about `budget`, and returns where it can go on (rule 4).
    ///
    /// - Throws: ``HubError``; with ``HubError/Code/refused`` the hub took nothing and the job is abandoned.
    func advance(_ claim: PlannerClaim, spec: AppSpec, budget: Duration) async throws -> Advance

    /// Takes the sends of a bundle further for at most about `budget`.
    ///
    /// - Throws: ``HubError``; with ``HubError/Code/refused`` the bundle is taken apart, and its sends go one by one.
    func advance(_ claim: BundleClaim, spec: AppSpec, budget: Duration) async throws -> BundleAdvance

    /// Does what the hub does behind its answers, until the task is cancelled; what is left then is done before this returns.
    func run() async

    /// Publishes batches again that are due: retries, and what a crash or a lost broker left behind (rule 1).
    func resume(_ batches: [DueBatch], specs: [AppID: AppSpec]) async throws
}

/// How far ``NotificationHub/advance(_:spec:budget:)`` came.
package enum Advance: Sendable {
    /// More is to be done, from this claim on, after a pause.
    case more(PlannerClaim, after: Duration)
    /// There is no room for more: the windows of these services are full, or their rates used up (rule 12).
    case full(PlannerClaim, of: [PNS], after: Duration)
    /// The hub has the whole send.
    case done
    /// Another planner has the job, or it was stopped.
    case lost
}

/// How far ``NotificationHub/advance(_:spec:budget:)`` came with a bundle.
package enum BundleAdvance: Sendable, Equatable {
    /// More is to be done, from this claim on, after a pause.
    case more(BundleClaim, after: Duration)
    /// All its sends are planned, or go their own way.
    case done
    /// Another planner has it, or it was taken apart.
    case lost
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
    /// What the hub asked to wait, if it did.
    package let retryAfter: Duration?

    package init(_ code: Code, _ message: String, retryAfter: Duration? = nil) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
    }

    package var description: String { "\(self.message) (\(self.code))" }
}
