/// The origin of a web page (RFC 6454): scheme, host and port, as a browser writes them in `Origin`.
package struct WebOrigin: Hashable, Sendable, Codable, CustomStringConvertible {
    /// In small letters, and without a port that the scheme implies.
    package let text: String

    /// Reads an origin that an operator wrote.
    ///
    /// - Parameter text: Such as `https://app.example.com` or `http://localhost:5173`.
    /// - Throws: ``InvalidValue`` for anything else, also for plain HTTP from another host than this one.
    package init(_ text: String) throws(InvalidValue) {
        let small = text.withoutCapitals
        guard let mark = small.firstRange(of: "://") else { throw Self.fault }
        let scheme = small[..<mark.lowerBound]
        guard scheme == "https" || scheme == "http" else { throw Self.fault }
        var host = small[mark.upperBound...]
        var port: Int?
        // The colons within brackets are an IPv6 address's own.
        if let colon = host.lastIndex(of: ":"), !host[colon...].contains("]") {
            guard let number = Int(host[colon...].dropFirst()), (1...65_535).contains(number),
                host[colon...].dropFirst() == String(number)
            else { throw Self.fault }
            port = number
            host = host[..<colon]
        }
        guard Self.isHost(host) else { throw Self.fault }
        if scheme == "http", !["localhost", "127.0.0.1", "[::1]"].contains(host) {
            throw InvalidValue(
                "must be https: a page served over plain HTTP can be altered on the way; http is for localhost only"
            )
        }
        if port == (scheme == "https" ? 443 : 80) { port = nil }
        self.text = "\(scheme)://\(host)\(port.map { ":\($0)" } ?? "")"
    }

    private static let fault = InvalidValue(
        "must be an origin such as https://app.example.com or https://app.example.com:8443, with no path and no wildcard"
    )

    private static func isHost(_ host: Substring) -> Bool {
        if host.hasPrefix("["), host.hasSuffix("]") {
            return host.contains(":") && IPAddress(host.dropFirst().dropLast()) != nil
        }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        return host.utf8.count <= 253
            && labels.allSatisfy { label in
                !label.isEmpty
                    && label.utf8.allSatisfy { byte in
                        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "-")
                            || byte == UInt8(ascii: "_")
                    }
            }
    }

    package init(from decoder: any Decoder) throws {
        try self.init(decoder.singleValueContainer().decode(String.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.text)
    }

    package var description: String { self.text }
}
