/// A store that may have several servers, of which one may show for a while what was true before another took its place.
package protocol ConfirmsReads: Sendable {
    /// Makes sure that what is read from now on is not what a server shows that was replaced meanwhile: by a write that it
    /// acknowledges (rule 20). A store that has no other server is always sure.
    ///
    /// - Throws: ``StoreError``.
    func confirmReads() async throws
}

extension ConfirmsReads {
    package func confirmReads() async throws {}
}
