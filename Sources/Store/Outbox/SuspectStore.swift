/// Messages that may be what ended their workers, whether or not there are rows for them (rule 5).
package protocol SuspectStore: Sendable {
    /// Notes that a message is about to be looked at.
    ///
    /// A note that nobody clears is forgotten after a day.
    ///
    /// - Parameter fingerprint: Names the message.
    /// - Returns: Whether it was noted already, and not cleared.
    /// - Throws: ``StoreError``.
    func suspect(_ fingerprint: [UInt8]) async throws -> Bool

    /// Takes the note of a message back: whoever looked at it lives.
    func clear(suspect fingerprint: [UInt8]) async throws
}
