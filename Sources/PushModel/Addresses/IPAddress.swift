#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// An IPv4 or IPv6 address; an IPv4 address within IPv6 (`::ffff:192.0.2.1`) is the IPv4 address.
package struct IPAddress: Hashable, Sendable {
    /// In IPv6's form.
    package let bits: UInt128

    /// Stands for an unknown address.
    package static let unspecified = IPAddress(bits: 0)

    /// Whether it is an IPv4 address.
    package var isIPv4: Bool { self.bits >> 32 == 0xFFFF }

    /// Whether it is of this machine alone: 127.0.0.0/8 or ::1.
    package var isLoopback: Bool { self.isIPv4 ? (self.bits >> 24) & 0xFF == 127 : self.bits == 1 }

    /// Whether a host is this machine under a name or an address that is always its own.
    package static func isLoopback(host: String) -> Bool {
        host.lowercased() == "localhost" || IPAddress(host)?.isLoopback == true
    }

    /// The address that stands for one client: the IPv4 address, or the /64 of an IPv6 address, because a host may use all of it.
    package var client: IPAddress { self.isIPv4 ? self : IPAddress(bits: (self.bits >> 64) << 64) }

    /// The address as it is written, such as 192.0.2.1 and 2001:db8::1 (RFC 5952).
    package var text: String {
        guard !self.isIPv4 else {
            return (0..<4).reversed().map { String((self.bits >> ($0 * 8)) & 0xFF) }.joined(separator: ".")
        }
        var (bits, text) = (self.bits.bigEndian, [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN)))
        guard unsafe inet_ntop(AF_INET6, &bits, &text, socklen_t(text.count)) != nil else { return "" }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// An address of these bits in IPv6's form.
    package init(bits: UInt128) { self.bits = bits }

    /// Reads an address; nil when the text is none.
    package init?(_ text: some StringProtocol) {
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
