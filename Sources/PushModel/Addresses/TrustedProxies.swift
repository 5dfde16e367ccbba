/// The proxies whose `X-Forwarded-For` is trusted.
package struct TrustedProxies: Sendable, Equatable {
    private let networks: [IPNetwork]
    /// As it was given.
    package let text: String

    /// Every connection is a client's own.
    package static let none = TrustedProxies(networks: [], text: "")

    private init(networks: [IPNetwork], text: String) { (self.networks, self.text) = (networks, text) }

    /// Whether there are none.
    package var isEmpty: Bool { self.networks.isEmpty }

    /// - Parameter text: Addresses and networks such as `10.0.0.0/8`, separated by commas; empty = no proxy is trusted.
    /// - Throws: ``InvalidValue`` that names the part that is neither.
    package init(_ text: String) throws(InvalidValue) {
        var networks: [IPNetwork] = []
        for part in text.split(separator: ",").map({ $0.trimming() }) where !part.isEmpty {
            guard let network = IPNetwork(part) else {
                throw InvalidValue("'\(part)' is neither an address nor a network such as 10.0.0.0/8 or fd00::/8")
            }
            networks.append(network)
        }
        (self.networks, self.text) = (networks, text)
    }

    /// Whether the address is a trusted proxy's.
    package func contains(_ address: IPAddress) -> Bool { self.networks.contains { $0.contains(address) } }
}
