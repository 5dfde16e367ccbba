/// An `https` address that a setting names: host, port, nothing more.
struct Endpoint: Sendable, Equatable {
    let host: String
    let port: Int

    /// The value of `:authority` or `Host`.
    var authority: String { self.port == 443 ? self.host : "\(self.host):\(self.port)" }

    /// - Throws: ``SenderError`` when the text is not such an address.
    init(_ text: String, setting: String) throws(SenderError) {
        let fault = SenderError(
            .invalid,
            "\(setting): \(text.prefix(100).debugDescription) is not an address such as https://host or https://host:port"
        )
        guard text.lowercased().hasPrefix("https://") else { throw fault }
        var rest = text.dropFirst("https://".count)
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        let parts = rest.split(separator: ":", omittingEmptySubsequences: false)
        guard let host = parts.first, !host.isEmpty, parts.count <= 2, host.utf8.allSatisfy(Endpoint.isHostByte) else {
            throw fault
        }
        self.host = String(host)
        if parts.count == 2 {
            guard let port = Int(parts[1]), (1...65_535).contains(port) else { throw fault }
            self.port = port
        } else {
            self.port = 443
        }
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
