import Crypto

/// A browser's push subscription: where it is reached, and the keys that messages to it are encrypted with.
///
/// The handle is the base64url of its JSON text, with these members in this order and nothing else, so that a subscription has one
/// handle however a browser or a library writes it.
package struct WebPushSubscription: Sendable, Equatable {
    package let endpoint: WebPushEndpoint
    /// The browser's public key: an uncompressed point of P-256.
    package let publicKey: [UInt8]
    /// The secret that the browser shares with the page.
    package let authenticationSecret: [UInt8]

    package init(endpoint: WebPushEndpoint, publicKey: [UInt8], authenticationSecret: [UInt8]) {
        self.endpoint = endpoint
        self.publicKey = publicKey
        self.authenticationSecret = authenticationSecret
    }

    /// Reads a handle.
    ///
    /// - Parameter handle: The base64url of `{"endpoint": …, "p256dh": …, "auth": …}`, or of what browsers write
    ///   (`JSON.stringify(subscription)`), which has the two keys within `keys`.
    /// - Throws: ``InvalidValue``, without the handle.
    package init(handle: String) throws(InvalidValue) {
        guard let bytes = Self.decode(handle), let json = try? JSONReader.read(bytes), case .object(let members) = json
        else {
            throw InvalidValue("a handle of Web Push is the base64url of the subscription's JSON text")
        }
        func text(_ name: String, in members: [JSONValue.Member]) throws(InvalidValue) -> String {
            let found = members.filter { $0.name == name }
            guard found.count == 1, case .string(let text) = found[0].value else {
                throw InvalidValue("the subscription must have \(name) once, a string")
            }
            return text
        }
        var keys = members
        if case .object(let nested)? = members.first(where: { $0.name == "keys" })?.value { keys = nested }
        self.endpoint = try WebPushEndpoint(text("endpoint", in: members))
        guard let publicKey = Self.key(try text("p256dh", in: keys)) else {
            throw InvalidValue("the subscription's p256dh is not an uncompressed point of P-256 in base64url")
        }
        guard let secret = Self.decode(try text("auth", in: keys)), secret.count == 16 else {
            throw InvalidValue("the subscription's auth is not 16 bytes in base64url")
        }
        self.publicKey = publicKey
        self.authenticationSecret = secret
    }

    /// The handle.
    package var handle: String {
        Base64URL.encode(
            JSONValue.members([
                "endpoint": .string(self.endpoint.url), "p256dh": .string(Base64URL.encode(self.publicKey)),
                "auth": .string(Base64URL.encode(self.authenticationSecret)),
            ]).bytes
        )
    }

    /// The beginning of a handle up to the keys; nil where it is too short to be one.
    ///
    /// The endpoint alone is the subscription (RFC 8030, section 5: the push resource), so one that comes again with other keys is the
    /// same browser. Behind the endpoint a handle's JSON has 133 bytes, whatever the keys: 12 of `","p256dh":"`, 87, 10 of `","auth":"`,
    /// 22, and `"}`. Three bytes are four characters. So without the last 160 characters, and without those of an incomplete three, it
    /// ends in `"p256dh":"B`, one or two characters before, or there; and `B` is what every key begins with.
    static func identity(ofHandle text: String) -> String? {
        let length = text.utf8.count / 4 * 4 - 160
        return length > 0 ? String(decoding: text.utf8.prefix(length), as: UTF8.self) : nil
    }

    /// The bytes of a public key; nil where the text has another form, or the point is not on the curve.
    package static func key(_ text: String) -> [UInt8]? {
        guard let bytes = Self.decode(text), bytes.count == 65,
            (try? P256.KeyAgreement.PublicKey(x963Representation: bytes)) != nil
        else { return nil }
        return bytes
    }

    /// Libraries write both alphabets, with padding and without.
    private static func decode(_ text: String) -> [UInt8]? {
        let bare = text.utf8.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard bare <= 2 else { return nil }
        let ours = text.utf8.dropLast(bare).map { byte in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            default: byte
            }
        }
        return Base64URL.decode(ours)
    }
}

/// The address of a subscription, in parts: the device chooses it, so nothing of it is left to a parser of URLs.
package struct WebPushEndpoint: Sendable, Equatable {
    /// The whole address; scheme and host in lower case, without a port 443.
    package let url: String
    /// A name, or an IPv4 address.
    package let host: String
    package let port: Int
    /// Scheme, host, and a port other than 443: the audience of tokens.
    package let origin: String

    /// The greatest length, in bytes: five times that of the longest known.
    package static let maximumLength = 1024

    /// - Throws: ``InvalidValue``, without the address, where it is not `https` with a plain host.
    package init(_ text: String) throws(InvalidValue) {
        let scheme = "https://"
        guard text.utf8.count <= Self.maximumLength else {
            throw InvalidValue("the subscription's endpoint has more than \(Self.maximumLength) bytes")
        }
        guard text.prefix(scheme.count).lowercased() == scheme, text.utf8.allSatisfy(Self.isAddressByte) else {
            throw InvalidValue("the subscription's endpoint is not an https address")
        }
        let rest = text.dropFirst(scheme.count)
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let parts = authority.split(separator: ":", omittingEmptySubsequences: false)
        let host = (parts.first ?? "").lowercased()
        let port = parts.count == 2 ? Self.port(parts[1]) : parts.count == 1 ? 443 : nil
        guard Self.isHost(host), let port else {
            throw InvalidValue(
                "the subscription's endpoint has no plain host: no user, at most one port, no address of IPv6"
            )
        }
        self.host = host
        self.port = port
        self.origin = port == 443 ? scheme + host : "\(scheme)\(host):\(port)"
        self.url = self.origin + rest.dropFirst(authority.count)
    }

    private static func port(_ text: Substring) -> Int? {
        guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy(Self.isDigit), let port = Int(text) else {
            return nil
        }
        return (1...65_535).contains(port) ? port : nil
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    /// Whether it is labels of letters, digits and hyphens with dots between.
    static func isHost(_ host: String) -> Bool {
        host.utf8.count <= 253
            && host.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
                (1...63).contains(label.utf8.count)
                    && label.utf8.allSatisfy {
                        Self.isDigit($0) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
                            || $0 == UInt8(ascii: "-")
                    }
            }
    }

    /// What RFC 3986 allows before a fragment, without brackets and `@`.
    private static func isAddressByte(_ byte: UInt8) -> Bool {
        switch byte {
        // All that can be seen, but for " # < > @ [ \ ] ^ ` { | }.
        case UInt8(ascii: "\""), UInt8(ascii: "#"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "@"),
            UInt8(ascii: "[")...UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{")...UInt8(ascii: "}"):
            false
        default: (UInt8(ascii: "!")...UInt8(ascii: "~")).contains(byte)
        }
    }
}

/// The hosts that endpoints may have: a push goes nowhere else, whatever a device says.
package struct WebPushHosts: Sendable, Equatable {
    private struct Pattern: Sendable, Equatable {
        /// With a dot in front where the host only ends so.
        let name: String
        let port: Int
    }

    /// Those of the browsers: Chromium's, Firefox's, Safari's, and Edge's of old.
    ///
    /// `jmt17.google.com` is Google's too: Debian's Chromium (156, tried) subscribes at `https://jmt17.google.com/fcm/send/…`, where
    /// builds of Google's own subscribe at `fcm.googleapis.com`.
    package static let browsers = [
        "fcm.googleapis.com", "jmt17.google.com", "updates.push.services.mozilla.com", "*.push.apple.com",
        "*.notify.windows.com",
    ]

    private let patterns: [Pattern]

    /// - Parameter hosts: Hosts such as `push.example.com`, `*.example.com` and `127.0.0.1:8443`; empty = ``browsers``.
    /// - Throws: ``InvalidValue`` that names the one that is none.
    package init(_ hosts: [String]) throws(InvalidValue) {
        var patterns: [Pattern] = []
        for text in hosts.isEmpty ? Self.browsers : hosts {
            let isDomain = text.hasPrefix("*.")
            guard let endpoint = try? WebPushEndpoint("https://" + text.dropFirst(isDomain ? 2 : 0)),
                endpoint.url == endpoint.origin
            else {
                throw InvalidValue(
                    "\"\(text.prefix(100))\" is not a host such as push.example.com, *.example.com or 127.0.0.1:8443"
                )
            }
            patterns.append(Pattern(name: (isDomain ? "." : "") + endpoint.host, port: endpoint.port))
        }
        self.patterns = patterns
    }

    /// - Throws: ``InvalidValue`` where the endpoint is at another host.
    package func check(_ endpoint: WebPushEndpoint) throws(InvalidValue) {
        let isAllowed = self.patterns.contains { pattern in
            pattern.port == endpoint.port
                && (pattern.name.hasPrefix(".") ? endpoint.host.hasSuffix(pattern.name) : endpoint.host == pattern.name)
        }
        guard isAllowed else {
            throw InvalidValue(
                "the subscription's endpoint is not at a push service that the app sends to (endpoint_hosts)"
            )
        }
    }
}
