package import PushModel

/// The outcomes that delivery workers record (rules 3, 8 and 14).
package protocol OutcomeSink: Sendable {
    /// The status of batches, in order; one that is closed, of a final job, or unknown is ``BatchStatus/closed``.
    ///
    /// Read before sending, and every 500 ms while sending (rule 13). A batch of an expired job is
    /// ``BatchStatus/stopping(_:)``, even before the sweeper has stopped the job.
    ///
    /// - Parameters:
    ///   - batches: The batches.
    ///   - message: The batches' message: a batch that is no longer its member counts as closed, because another
    ///     message has it; nil = any message.
    /// - Returns: The status of each, and where it is stored.
    /// - Throws: ``StoreError``.
    func status(of batches: [BatchKey], in message: MessageID?) async throws -> [LocatedStatus]

    /// Records outcomes in one change, each on its own and once: failures, counts, dead handles and the next attempt; completes a job
    /// where that was its last open batch.
    ///
    /// - Returns: For each whether it was recorded; false when an outcome of that batch and attempt stands already.
    /// - Throws: ``StoreError``; then none is.
    func record(_ outcomes: [BatchOutcome]) async throws -> [Bool]

    /// The users of these registrations, an element for each live one, in the order of their rows; nil = no user.
    ///
    /// Read when a push service calls their tokens dead: it shows how much that proves about others.
    func users(ofLive rows: [Int64]) async throws -> [UserName?]
}
