package import PushModel

/// A service that registers devices: the embedded hub, or one behind a network protocol.
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
}
