/// A device's address at its push service: an APNs token, an FCM token, a WNS channel URI.
///
/// Opaque but for its form.
package struct Handle: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The greatest length, in bytes of UTF-8, for any service.
    package static let maximumLength = 2048

    /// The address as it is sent; APNs tokens in lower-case hexadecimal, since they compare without regard to case.
    package let text: String

    /// Checks an address that an app gives, and normalises it.
    ///
    /// - Parameters:
    ///   - text: What the app sent.
    ///   - pns: The service that the address belongs to.
    ///   - channelPrefixes: For WNS, the beginnings of channel URIs that are taken besides `https` hosts under
    ///     `notify.windows.com` (a forged channel would be sent the app's bearer token).
    /// - Throws: ``InvalidValue`` that says what is wrong, without the address.
    package init(_ text: String, pns: PushService, channelPrefixes: [String] = []) throws(InvalidValue) {
        guard !text.isEmpty else { throw InvalidValue("a handle is needed") }
        guard text.utf8.count <= Handle.maximumLength else {
            throw InvalidValue("a handle has at most \(Handle.maximumLength) bytes")
        }
        switch pns {
        case .apns: self.text = try Handle.hexadecimal(text)
        case .fcm: self.text = try Handle.visible(text)
        case .wns, .mpns: self.text = try Handle.channel(text, pns: pns, prefixes: channelPrefixes)
        }
    }

    /// An address that was checked when it was stored.
    package init(stored text: String) { self.text = text }

    /// The forms under which a handle of unknown service may be stored: as it is, and as a lower-case APNs token.
    package static func lookupForms(of text: String) -> [Handle] {
        let forms = [text, text.lowercased()]
        return forms[0] == forms[1] ? [Handle(stored: text)] : forms.map(Handle.init(stored:))
    }

    package init(from decoder: any Decoder) throws {
        self.text = try decoder.singleValueContainer().decode(String.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.text)
    }

    /// The shortened form for logs and answers: whoever has the whole may send to the device.
    package var description: String {
        self.text.count <= 12 ? "…" : "\(self.text.prefix(4))…\(self.text.suffix(4))"
    }

    private static func hexadecimal(_ text: String) throws(InvalidValue) -> String {
        if text.hasPrefix("{") {
            throw InvalidValue(
                "this is the printed form of a data object ({LENGTH=…,BYTES=…}), which iOS 13 and later give for "
                    + "NSData.description; send the token's bytes as hexadecimal digits"
            )
        }
        let lower = text.lowercased()
        let isHexadecimal = lower.utf8.allSatisfy { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
        }
        guard isHexadecimal, lower.utf8.count.isMultiple(of: 2), lower.utf8.count <= 400 else {
            throw InvalidValue(
                "an APNs token is an even number of hexadecimal digits (at most 400), without spaces or brackets"
            )
        }
        return lower
    }

    private static func visible(_ text: String) throws(InvalidValue) -> String {
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw InvalidValue("an FCM token holds visible ASCII characters only")
        }
        return text
    }

    private static func channel(_ text: String, pns: PushService, prefixes: [String]) throws(InvalidValue) -> String {
        let visible = try Handle.visible(text)
        // Some URL parsers end the host at a backslash and others do not: no channel has one.
        guard !visible.contains("\\") else { throw InvalidValue("a channel URI has no backslash") }
        if prefixes.contains(where: { Handle.begins(visible, with: $0) }) { return visible }
        // What stands between the scheme and the first of / ? # is the authority; user information and a port have no place.
        let scheme = "https://"
        let domains = pns == .wns ? [".notify.windows.com"] : [".notify.live.net", ".notify.windows.com"]
        let schemes = pns == .wns ? [scheme] : [scheme, "http://"]
        for start in schemes where visible.lowercased().hasPrefix(start) {
            let rest = visible.dropFirst(start.count)
            let host = rest.prefix { !"/?#".contains($0) }.lowercased()
            let isName = !host.hasPrefix(".") && !host.contains("..") && host.utf8.allSatisfy(Handle.isHostByte)
            if isName, domains.contains(where: { host.hasSuffix($0) }) { return visible }
        }
        let wanted = pns == .wns ? "an https address under notify.windows.com" : "an address under notify.live.net"
        throw InvalidValue("a \(pns.rawValue.uppercased()) channel is \(wanted)")
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "."):
            true
        default: false
        }
    }

    /// Whether a channel begins as the operator allows.
    ///
    /// Where the prefix is a host without a path, the host must end there: `https://127.0.0.1:84` does not allow port 8443,
    /// nor `https://127.0.0.1:84@elsewhere`.
    private static func begins(_ channel: String, with prefix: String) -> Bool {
        guard !prefix.isEmpty, channel.hasPrefix(prefix) else { return false }
        let hasPath = prefix.split(separator: "://", maxSplits: 1).last?.contains("/") == true
        return hasPath || channel.dropFirst(prefix.count).first.map { "/?#".contains($0) } != false
    }
}

/// The addresses of a batch, one after the other in a single buffer: no object a device.
package struct HandleList: Sendable, Equatable {
    /// All addresses, in UTF-8, without separators.
    package private(set) var bytes: [UInt8] = []
    /// Where each address ends in ``bytes``.
    package private(set) var ends: [Int] = []

    package init() {}

    package init(_ handles: some Sequence<Handle>) {
        for handle in handles { self.append(handle.text.utf8) }
    }

    /// Takes buffers as they are.
    ///
    /// - Returns: nil where the ends do not ascend up to the end of the bytes.
    init?(bytes: [UInt8], ends: [Int]) {
        var start = 0
        for end in ends {
            guard end >= start else { return nil }
            start = end
        }
        guard start == bytes.count else { return nil }
        self.bytes = bytes
        self.ends = ends
    }

    package var count: Int { self.ends.count }

    package mutating func reserveCapacity(_ count: Int, bytes: Int) {
        self.ends.reserveCapacity(count)
        self.bytes.reserveCapacity(bytes)
    }

    package mutating func append(_ utf8: some Sequence<UInt8>) {
        self.bytes.append(contentsOf: utf8)
        self.ends.append(self.bytes.count)
    }

    // The same without a generic in the way, which costs a lookup of types in each call from another module.
    package mutating func append(_ utf8: UnsafeBufferPointer<UInt8>) {
        unsafe self.bytes.append(contentsOf: utf8)
        self.ends.append(self.bytes.count)
    }

    /// How many bytes one address has.
    package func length(at index: Int) -> Int { self.ends[index] - (index == 0 ? 0 : self.ends[index - 1]) }

    /// A copy of some of the addresses.
    package subscript(range: Range<Int>) -> HandleList {
        guard let last = range.last else { return HandleList() }
        let start = range.lowerBound == 0 ? 0 : self.ends[range.lowerBound - 1]
        var copy = HandleList()
        copy.bytes = Array(self.bytes[start..<self.ends[last]])
        copy.ends = self.ends[range].map { $0 - start }
        return copy
    }

    /// The bytes of one address.
    package subscript(index: Int) -> ArraySlice<UInt8> {
        self.bytes[(index == 0 ? 0 : self.ends[index - 1])..<self.ends[index]]
    }

    package func handle(at index: Int) -> Handle {
        Handle(stored: String(decoding: self[index], as: UTF8.self))
    }

    /// The same addresses at half their length, two lower-case hexadecimal digits in a byte: so a thousand APNs tokens fit one
    /// message; nil where an address is not made of such pairs.
    func packed() -> HandleList? {
        guard self.ends.allSatisfy({ $0.isMultiple(of: 2) }) else { return nil }
        var faults: UInt8 = 0
        let halves = unsafe [UInt8](unsafeUninitializedCapacity: self.bytes.count / 2) { halves, count in
            for index in 0..<self.bytes.count / 2 {
                let (high, low) = (Self.value(self.bytes[2 * index]), Self.value(self.bytes[2 * index + 1]))
                faults |= high | low
                unsafe halves.initializeElement(at: index, to: high << 4 | low & 15)
            }
            count = self.bytes.count / 2
        }
        guard faults & 0xF0 == 0 else { return nil }
        return HandleList(bytes: halves, ends: self.ends.map { $0 / 2 })
    }

    /// Undoes ``packed()``.
    func unpacked() -> HandleList {
        let digits = unsafe [UInt8](unsafeUninitializedCapacity: self.bytes.count * 2) { digits, count in
            for (index, byte) in self.bytes.enumerated() {
                unsafe digits.initializeElement(at: 2 * index, to: Self.digit(byte >> 4))
                unsafe digits.initializeElement(at: 2 * index + 1, to: Self.digit(byte & 15))
            }
            count = self.bytes.count * 2
        }
        // Twice what ascended before ascends again.
        return HandleList(bytes: digits, ends: self.ends.map { $0 * 2 }) ?? HandleList()
    }

    private static func digit(_ value: UInt8) -> UInt8 { value + (value < 10 ? 0x30 : 0x57) }

    /// The value of a lower-case digit; above 15 where it is none.
    private static func value(_ digit: UInt8) -> UInt8 {
        let (number, letter) = (digit &- 0x30, digit &- 0x61)
        return number < 10 ? number : letter < 6 ? letter + 10 : 0xFF
    }
}
