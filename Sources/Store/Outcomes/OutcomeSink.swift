package import PushModel

/// Where delivery workers leave what became of their batches (rules 3, 8 and 14).
package protocol OutcomeSink: Sendable {
    /// How these batches stand, in their order; one that is closed, of a final job, or unknown is ``BatchStatus/closed``.
    ///
    /// Asked before sending, and every 500 ms while sending (rule 13). A batch whose job's time is over is ``BatchStatus/stopping(_:)``,
    /// also where nobody has stopped the job yet.
    ///
    /// - Parameters:
    ///   - batches: The batches.
    ///   - message: The message that they came in: one that it does not stand for any more is closed for it, and goes its own way; nil
    ///     = whatever message they are in.
    /// - Returns: How each stands, and where.
    /// - Throws: ``StoreError``.
    func status(of batches: [BatchKey], in message: MessageID?) async throws -> [LocatedStatus]

    /// Records outcomes in one change, each on its own and once: failures, counts, dead handles and the next attempt; completes a job
    /// where that was its last open batch.
    ///
    /// - Returns: For each whether it was recorded; false when an outcome of that batch and attempt stands already.
    /// - Throws: ``StoreError``; then none is.
    func record(_ outcomes: [BatchOutcome]) async throws -> [Bool]

    /// Whose these registrations are, an element for each that is live; nil = nobody's.
    ///
    /// Asked when a push service calls their tokens dead: it says how much that tells of others.
    func users(ofLive rows: [Int64]) async throws -> [UserName?]
}
