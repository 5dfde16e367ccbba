package import PushModel
package import Store

extension RegisterRequest {
    /// When its registration expires: what ends sooner counts.
    ///
    /// - Parameters:
    ///   - lifetime: How long registrations live; nil = for ever.
    ///   - now: The time by the clock that does not jump.
    /// - Returns: The end; nil = never.
    package func expires(within lifetime: Duration?, from now: Timestamp) -> Timestamp? {
        [lifetime.map(now.advanced), self.expires].compactMap { $0 }.min()
    }
}

extension [ImportedRegistration] {
    /// Gives an end to those that have none.
    ///
    /// - Parameters:
    ///   - lifetime: How long the others live; nil = for ever.
    ///   - now: The time by the clock that does not jump.
    /// - Returns: All, in their order.
    package func expiring(after lifetime: Duration?, from now: Timestamp) -> [ImportedRegistration] {
        guard let end = lifetime.map(now.advanced) else { return self }
        return self.map { row in
            var row = row
            row.expires = row.expires ?? end
            return row
        }
    }
}
