/// The queues paused by operators, in all processes and over restarts, until they are resumed.
///
/// Nothing is taken from the outbox for a queue that is paused, send workers have no credit for it, and workers defer the messages that they
/// are handed.
package protocol PauseStore: Sendable {
    /// All pauses: a handful.
    func pauses() async throws -> [Pause]
}
