/// The proxies whose `X-Forwarded-For` is trusted.
package struct TrustedProxies: Sendable, Equatable {
    private struct Network: Sendable, Equatable {
        let bits: UInt128
        /// The last bits, which do not count.
        let hostBits: Int

        func contains(_ address: IPAddress) -> Bool { (address.bits ^ self.bits) >> self.hostBits == 0 }
    }

    private let networks: [Network]

    /// Every connection is a client's own.
    package static let none = TrustedProxies(networks: [])

    private init(networks: [Network]) { self.networks = networks }

    /// Whether there are none.
    package var isEmpty: Bool { self.networks.isEmpty }

    /// - Parameter text: Addresses and networks such as `10.0.0.0/8`, separated by commas; empty = no proxy is trusted.
    /// - Throws: ``InvalidValue`` that names the part that is neither.
    package init(_ text: String) throws(InvalidValue) {
        var networks: [Network] = []
        for part in text.split(separator: ",").map({ $0.trimming() }) where !part.isEmpty {
            guard let network = Self.network(part) else {
                throw InvalidValue("'\(part)' is neither an address nor a network such as 10.0.0.0/8 or fd00::/8")
            }
            networks.append(network)
        }
        self.networks = networks
    }

    private static func network(_ text: Substring) -> Network? {
        let halves = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(halves[0]) else { return nil }
        let width = address.isIPv4 ? 32 : 128
        guard halves.count == 2 else { return Network(bits: address.bits, hostBits: 0) }
        guard let length = Int(halves[1]), (0...width).contains(length) else { return nil }
        return Network(bits: address.bits, hostBits: width - length)
    }

    /// Whether the address is a trusted proxy's.
    package func contains(_ address: IPAddress) -> Bool { self.networks.contains { $0.contains(address) } }
}
