package import PushModel

/// `$filter` of a list of registrations: those with a handle.
package struct HandleFilter: Sendable, Equatable {
    /// The forms under which the handle may be stored.
    package let handles: [Handle]

    /// The filter for the registrations of a handle, with the names that official clients give to its parts.
    ///
    /// - Parameters:
    ///   - platform: The platform.
    ///   - parts: The parts of the handle, as ``WirePlatform/handleElements`` names them.
    /// - Returns: The parameter, not yet encoded.
    package static func text(_ platform: WirePlatform, _ parts: [String]) -> String {
        // Of one part it is `ChannelUri` on every platform: so the real service was recorded.
        let names = platform.handleElements.count == 1 ? ["ChannelUri"] : platform.handleElements
        return zip(names, parts).filter { !$0.1.isEmpty }.map { name, part in
            "\(name) eq \(QuotedText.of(platform == .apple ? part.uppercased() : part))"
        }.joined(separator: " and ")
    }

    /// Reads `DeviceToken eq '…'` and its like.
    ///
    /// The property's name does not matter, because official clients say `ChannelUri` for every platform; but for a browser's three
    /// parts. Of Baidu's two there is no stored form.
    ///
    /// - Parameter text: The parameter, decoded once.
    /// - Throws: ``InvalidValue``.
    package init(_ text: String) throws(InvalidValue) {
        let properties = try Self.properties(of: text)
        var forms: [Handle] = []
        if properties.count == 1 {
            forms = try Self.forms(of: properties[0].value)
        } else {
            let parts = WirePlatform.browser.handleElements.map { name in
                properties.first { $0.name == name.lowercased() }?.value ?? ""
            }
            guard properties.count == 3, !parts.contains("") else {
                throw InvalidValue(
                    member: "$filter",
                    "must be one property, or a browser's three: Endpoint, P256DH and Auth"
                )
            }
            do { forms = [Handle(stored: try BrowserHandle.text(of: parts))] } catch {
                // An address may have been encoded once more.
                guard let decoded = PercentCoding.decode(parts[0][...], plusIsSpace: false) else {
                    throw error.named("$filter")
                }
                do { forms = [Handle(stored: try BrowserHandle.text(of: [decoded] + parts[1...]))] } catch {
                    throw error.named("$filter")
                }
            }
        }
        self.handles = forms
    }

    /// The properties by names in lower case, and their values.
    private static func properties(of text: String) throws(InvalidValue) -> [(name: String, value: String)] {
        let known = Set(WirePlatform.allCases.flatMap(\.handleElements).map { $0.lowercased() })
        var properties: [(name: String, value: String)] = []
        var reader = FilterReader(text)
        while true {
            guard properties.count < 3, let property = reader.property() else {
                throw InvalidValue(
                    member: "$filter",
                    "must be a property of a handle and its value, as in ChannelUri eq '…'"
                )
            }
            let name = property.name.lowercased()
            guard known.contains(name) else {
                throw InvalidValue(member: "$filter", "\"\(property.name.prefix(40))\" is not a property of a handle")
            }
            guard (1...WrittenDevice.longestChannel).contains(property.value.utf8.count) else {
                throw InvalidValue(member: "$filter", "a handle must have 1 to \(WrittenDevice.longestChannel) bytes")
            }
            properties.append((name, property.value))
            guard !reader.isAtEnd else { return properties }
            guard reader.word() == "and", reader.skipSpace() else {
                throw InvalidValue(member: "$filter", "only \"and\" may follow a value")
            }
        }
    }

    private static func forms(of value: String) throws(InvalidValue) -> [Handle] {
        // A channel may have been encoded once more.
        let decoded = value.contains("%") ? PercentCoding.decode(value[...], plusIsSpace: false) ?? value : value
        // A browser's is what official clients give for its handle.
        for text in [value, decoded] where text.hasPrefix("{") {
            do { return [Handle(stored: try BrowserHandle.text(ofChannel: text))] } catch {
                throw error.named("$filter")
            }
        }
        return Handle.lookupForms(of: value) + (decoded == value ? [] : Handle.lookupForms(of: decoded))
    }
}

/// Reads `NAME eq 'VALUE'`, byte by byte.
private struct FilterReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) {
        self.bytes = Array(text.utf8)
        self.skipSpace()
    }

    var isAtEnd: Bool { self.position == self.bytes.count }

    private var current: UInt8? { self.isAtEnd ? nil : self.bytes[self.position] }

    /// - Returns: Whether there was any.
    @discardableResult
    mutating func skipSpace() -> Bool {
        let start = self.position
        while let byte = self.current, byte == 0x20 || (0x09...0x0D).contains(byte) { self.position += 1 }
        return self.position > start
    }

    /// A word of letters and digits, without capitals; empty where there is none.
    mutating func word() -> String { self.name().lowercased() }

    /// The property here, and the space behind it; nil where there is none.
    mutating func property() -> (name: String, value: String)? {
        let name = self.name()
        guard !name.isEmpty, self.skipSpace(), self.word() == "eq", self.skipSpace(), let value = self.quoted() else {
            return nil
        }
        self.skipSpace()
        return (name, value)
    }

    private mutating func name() -> String {
        let word = self.bytes[self.position...].prefix { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: false
            }
        }
        self.position += word.count
        return String(decoding: word, as: UTF8.self)
    }

    private mutating func quoted() -> String? {
        guard self.current == UInt8(ascii: "'") else { return nil }
        return QuotedText.read(self.bytes, at: &self.position)
    }
}
