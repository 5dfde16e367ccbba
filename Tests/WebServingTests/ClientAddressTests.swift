import HTTPTypes
import NIOCore
import PushModel
import Testing

@testable import WebServing

/// Whose request it is.
@Suite struct ClientAddressTests {
    private static func client(_ proxies: String, from connection: String, _ forwarded: [String] = [])
        throws -> IPAddress
    {
        var headers = HTTPFields()
        for text in forwarded { headers.append(HTTPField(name: .forwardedFor, value: text)) }
        return try TrustedProxies(proxies).client(
            of: try SocketAddress(ipAddress: connection, port: 4711),
            headers: headers
        )
    }

    @Test(arguments: ["192.0.2.1", "::", "::1", "2001:db8::7", "fd12:0:1::", "255.255.255.255"])
    func anAddressIsWrittenAsItIsRead(text: String) throws {
        #expect(try #require(IPAddress(text)).text == text)
    }

    @Test(arguments: [
        // Nobody's word is taken.
        ("", "192.0.2.1", ["203.0.113.7"], "192.0.2.1"),
        ("10.0.0.0/8", "192.0.2.1", ["203.0.113.7"], "192.0.2.1"),
        // A proxy's is, from the end on.
        ("10.0.0.1", "10.0.0.1", ["203.0.113.7"], "203.0.113.7"),
        ("10.0.0.0/8", "10.0.0.1", ["1.1.1.1, 203.0.113.7, 10.2.3.4"], "203.0.113.7"),
        ("10.0.0.0/8, 127.0.0.1", "127.0.0.1", ["1.1.1.1", "203.0.113.7,10.2.3.4"], "203.0.113.7"),
        ("10.0.0.0/8", "10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        ("10.0.0.0/8", "10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.0/8", "10.0.0.1", ["203.0.113.7, unknown"], "10.0.0.1"),
        ("10.0.0.0/8", "10.0.0.1", ["203.0.113.7, "], "10.0.0.1"),
        ("10.0.0.1", "10.0.0.1", ["203.0.113.7:1234"], "203.0.113.7"),
        ("10.0.0.1", "10.0.0.1", ["[2001:db8::7]:1234"], "2001:db8::"),
        // Of IPv6 the first half counts, and an IPv4 address stays one.
        ("", "2001:db8:1:2:3:4:5:6", [], "2001:db8:1:2::"),
        ("", "::ffff:192.0.2.1", [], "192.0.2.1"),
        ("fd00::/8", "fd12::1", ["2001:db8::1"], "2001:db8::"),
        ("10.0.0.0/8", "::ffff:10.0.0.1", ["203.0.113.7"], "203.0.113.7"),
        ("0.0.0.0/0", "192.0.2.1", ["2001:db8::1"], "2001:db8::"),
    ])
    func theClientIsTheLastAddressThatIsNoTrustedProxy(
        proxies: String,
        from: String,
        forwarded: [String],
        client: String
    ) throws {
        #expect(try Self.client(proxies, from: from, forwarded) == IPAddress(client))
    }

    @Test(arguments: [
        "10.0.0.0/33", "10.0.0", "proxy.example", "10.0.0.0/", "fd00::/129", "10.0.0.1/-1",
        "10.0.0.1;10.0.0.2",
    ])
    func anInvalidNetworkIsRefusedByName(text: String) {
        let error = #expect(throws: InvalidValue.self) { try TrustedProxies("127.0.0.1, \(text)") }
        #expect(error?.reason.contains("'\(text)'") == true)
    }

    @Test func networkPrefixesMatchExactly() throws {
        let proxies = try TrustedProxies("192.0.2.128/25, 2001:db8::/33")
        let cases = [
            ("192.0.2.128", true), ("192.0.2.255", true), ("192.0.2.127", false),
            ("2001:db8:7fff::1", true),
            ("2001:db8:8000::1", false), ("::192.0.2.128", false),
        ]
        for (text, isInside) in cases {
            #expect(proxies.contains(try #require(IPAddress(text))) == isInside, "\(text)")
        }
        #expect(try TrustedProxies(" , ").isEmpty)
    }
}
