import PushModel

/// Looks up the addresses of hosts that devices chose, and refuses those that are not on the internet.
struct HostAddresses: Sendable {
    /// Why there is no address to connect to.
    enum Fault: Error, Equatable {
        /// The name has no address, or the lookup failed.
        case unknown
        /// All of its addresses are private ones, which the app does not declare.
        case notPublic
    }

    /// Networks that are not part of the internet and allowed all the same.
    let declared: [IPNetwork]
    /// The addresses of a name, in the order of preference.
    let resolve: @Sendable (String, _ deadline: ContinuousClock.Instant) async -> [String]

    /// The addresses of a host that may be connected to.
    ///
    /// - Parameters:
    ///   - host: A name or an address.
    ///   - deadline: Until when a name may be looked up.
    /// - Returns: At least one.
    /// - Throws: ``Fault``.
    func allowed(of host: String, by deadline: ContinuousClock.Instant) async throws(Fault) -> [String] {
        let found = await IPAddress(host) == nil ? self.resolve(host, deadline) : [host]
        guard !found.isEmpty else { throw .unknown }
        let allowed = found.filter { text in
            guard let address = IPAddress(text) else { return false }
            return address.isPublic || self.declared.contains { $0.contains(address) }
        }
        guard !allowed.isEmpty else { throw .notPublic }
        return allowed
    }
}
