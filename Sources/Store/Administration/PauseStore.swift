package import PushModel

/// The queues paused by operators, in all processes and over restarts, until they are resumed.
///
/// Nothing is taken from the outbox for a queue that is paused, send workers have no credit for it, and workers defer the messages that they
/// are handed.
package protocol PauseStore: Sendable {
    /// All pauses: a handful.
    func pauses() async throws -> [Pause]

    /// Pauses a queue; one that is paused stays as it is.
    ///
    /// - Parameters:
    ///   - queue: The queue.
    ///   - app: The app; nil = all apps.
    ///   - caller: The author of the pause, for display.
    /// - Throws: ``StoreError``.
    func pause(_ queue: WorkQueue, app: AppID?, by caller: String) async throws

    /// Ends a pause: waiting messages are due.
    ///
    /// - Returns: Whether there was one.
    func resume(_ queue: WorkQueue, app: AppID?) async throws -> Bool

    /// The backlog of an app as the store knows it, by queue.
    func load(of app: AppID) async throws -> [WorkQueue: QueueLoad]
}
