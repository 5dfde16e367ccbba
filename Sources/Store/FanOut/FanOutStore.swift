package import PushModel

/// Fan-out: from the sends of a message to batches (rules 2, 4 and 12).
package protocol FanOutStore: AudienceStore {
    /// Takes a send message over, with its first work: raises its epoch, so that earlier claims are void, and starts its lease.
    ///
    /// Who only peeks reads it without claiming it: the first ``commit(_:of:)`` claims it, unless another has since. So a message
    /// fanned out in one step costs one commit. Until then the store does not show that it is in progress. Only a claim with
    /// ``FanOutClaim/isFirst`` may be committed then: beside an earlier claim, what was read may be old.
    ///
    /// - Returns: nil when nothing of it is to be fanned out.
    /// - Throws: ``StoreError``.
    func claim(_ message: MessageID, peeking: Bool) async throws -> FanOutClaim?

    /// Extends a claim's lease.
    ///
    /// - Returns: false when the claim is no longer the latest.
    func extend(_ claim: FanOutClaim) async throws -> Bool

    /// The next work of a claim: its sends behind ``FanOutClaim/position``, or the one campaign that it is.
    ///
    /// - Returns: nil behind the last send.
    /// - Throws: ``StoreError``.
    func work(of claim: FanOutClaim) async throws -> FanOutWork?

    /// Commits a step in one transaction: writes batches with their delivery messages, moves the cursors and updates
    /// jobs, or ends the only send, if the claim is the latest, and only for jobs that are still members of its message.
    ///
    /// For a peeked message this is the claim.
    ///
    /// The devices count towards the rate limit with the commit. A job whose audience is all in batches is final when
    /// none of them is open.
    ///
    /// - Returns: The result.
    /// - Throws: ``StoreError``.
    func commit(_ step: FanOutStep, of claim: FanOutClaim) async throws -> FanOutResult

    /// The credit for publishing to a service, for an app and priority (rule 12).
    func credit(for kind: CreditKind, app: AppID, pns: PushService, priority: Priority) async throws -> Credit

    /// The open batches of a delivery message with their templates, for publishing it again.
    func batches(of message: MessageID) async throws -> [DueBatch]
}
