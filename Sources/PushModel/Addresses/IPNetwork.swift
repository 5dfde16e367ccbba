/// A network of addresses, such as `10.0.0.0/8`; a single address is a network too.
package struct IPNetwork: Sendable, Equatable {
    private let bits: UInt128
    /// The last bits, which do not count.
    private let hostBits: Int

    /// Reads a network; nil when the text is none.
    package init?(_ text: some StringProtocol) {
        let halves = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = halves.first, let address = IPAddress(first) else { return nil }
        let width = address.isIPv4 ? 32 : 128
        self.bits = address.bits
        guard halves.count == 2 else {
            self.hostBits = 0
            return
        }
        guard let length = Int(halves[1]), (0...width).contains(length) else { return nil }
        self.hostBits = width - length
    }

    /// Whether the address is one of the network.
    package func contains(_ address: IPAddress) -> Bool { (address.bits ^ self.bits) >> self.hostBits == 0 }
}

extension IPAddress {
    /// Networks without hosts on the public internet: private, local, shared, documentation, multicast, and those that carry an IPv4
    /// address of which nobody knows where it leads (IANA's registries of special-purpose addresses).
    private static let special = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/3", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
    ].compactMap { IPNetwork($0) }
    /// All that is given out of IPv6.
    private static let global = IPNetwork("2000::/3")
    /// IPv4 addresses behind a translator (RFC 6052).
    private static let translated = IPNetwork("64:ff9b::/96")

    /// Whether it is an address on the public internet, not of this host, its network or one that has no hosts.
    package var isPublic: Bool {
        if Self.translated?.contains(self) == true {
            return IPAddress(bits: 0xFFFF << 32 | self.bits & 0xFFFF_FFFF).isPublic
        }
        guard self.isIPv4 || Self.global?.contains(self) == true else { return false }
        return !Self.special.contains { $0.contains(self) }
    }
}
