import HTTPTypes
package import NIOCore
package import PushModel

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// An IPv4 or IPv6 address; an IPv4 address within IPv6 (`::ffff:192.0.2.1`) is the IPv4 address.
package struct IPAddress: Hashable, Sendable {
    /// In IPv6's form.
    let bits: UInt128

    /// Stands for an unknown address.
    static let unspecified = IPAddress(bits: 0)

    var isIPv4: Bool { self.bits >> 32 == 0xFFFF }

    /// The address that stands for one client: the IPv4 address, or the /64 of an IPv6 address, because a host may use all of it.
    package var client: IPAddress { self.isIPv4 ? self : IPAddress(bits: (self.bits >> 64) << 64) }

    init(bits: UInt128) { self.bits = bits }

    /// - Returns: nil for a socket of another family.
    package init?(_ address: SocketAddress) {
        guard let text = address.ipAddress else { return nil }
        self.init(text)
    }

    /// - Returns: nil when the text is no address.
    init?(_ text: some StringProtocol) {
        let text = String(text)
        var (short, long) = (UInt32(0), UInt128(0))
        if unsafe inet_pton(AF_INET, text, &short) == 1 {
            self.bits = 0xFFFF << 32 | UInt128(UInt32(bigEndian: short))
        } else if unsafe inet_pton(AF_INET6, text, &long) == 1 {
            self.bits = UInt128(bigEndian: long)
        } else {
            return nil
        }
    }
}

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

    package var isEmpty: Bool { self.networks.isEmpty }

    /// - Parameter text: Addresses and networks such as `10.0.0.0/8`, separated by commas; empty = no proxy is trusted.
    /// - Throws: ``InvalidValue`` that says which part is neither.
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

    package func contains(_ address: IPAddress) -> Bool { self.networks.contains { $0.contains(address) } }

    /// The client of a request.
    ///
    /// The header is read from its end, as far as trusted proxies wrote it; anything before may be forged.
    ///
    /// - Parameters:
    ///   - connection: The other end of the connection.
    ///   - headers: The request's, of which `X-Forwarded-For` is looked at where the connection is a trusted proxy's.
    /// - Returns: The client, as ``IPAddress/client`` says it.
    func client(of connection: SocketAddress?, headers: HTTPFields) -> IPAddress {
        var client = connection.flatMap(IPAddress.init) ?? .unspecified
        guard self.contains(client) else { return client.client }
        let hops = headers[values: .forwardedFor].flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
        for hop in hops.reversed() {
            // What is no address tells nothing: the proxy that wrote it is all that is known.
            guard let address = Self.address(hop.trimming()) else { break }
            client = address
            if !self.contains(address) { break }
        }
        return client.client
    }

    /// Reads a hop: an address, some proxies add the port (`192.0.2.1:4711`, `[2001:db8::1]:4711`).
    private static func address(_ hop: Substring) -> IPAddress? {
        if hop.hasPrefix("["), let end = hop.firstIndex(of: "]") { return IPAddress(hop[..<end].dropFirst()) }
        if let colon = hop.firstIndex(of: ":"), hop.lastIndex(of: ":") == colon { return IPAddress(hop[..<colon]) }
        return IPAddress(hop)
    }
}
