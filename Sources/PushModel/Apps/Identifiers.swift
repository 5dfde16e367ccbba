/// The name of an app: lower-case letters, digits and `-`, 1 to 40 characters, beginning with a letter or digit.
package struct AppID: Hashable, Sendable, Codable, Comparable, CustomStringConvertible {
    package let name: String

    /// - Throws: ``InvalidValue`` when the name breaks the rule.
    package init(_ name: String) throws(InvalidValue) {
        let allowed = name.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || byte == UInt8(ascii: "-")
        }
        guard allowed, (1...40).contains(name.utf8.count), !name.hasPrefix("-") else {
            throw InvalidValue("an app's name is 1 to 40 lower-case letters, digits and '-'")
        }
        self.name = name
    }

    private init(unchecked name: String) { self.name = name }

    package init(from decoder: any Decoder) throws {
        try self.init(decoder.singleValueContainer().decode(String.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.name)
    }

    /// The app of the routes that name none: `/api/…`.
    package static let `default` = AppID(unchecked: "default")

    package var description: String { self.name }

    package static func < (lhs: AppID, rhs: AppID) -> Bool { lhs.name < rhs.name }
}

extension String {
    /// The text with ASCII capitals in lower case, for comparisons that ignore the case of ASCII letters.
    ///
    /// Most names have none and are returned as they are.
    package var withoutCapitals: String {
        let capitals = UInt8(ascii: "A")...UInt8(ascii: "Z")
        for byte in self.utf8 where capitals.contains(byte) {
            return String(decoding: self.utf8.map { capitals.contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
        }
        return self
    }
}

/// The id of a registration as its app keeps it: safe in a URL path, never reused, and hard to guess where it is one of ours.
package struct RegistrationID: Hashable, Sendable, Codable, CustomStringConvertible {
    package let text: String

    /// A new id in lower-case letters and digits: the time in milliseconds, then 115 random bits.
    ///
    /// The time comes first so that ids made together stand together in an index: a random place each would touch a page each.
    package static func random() -> RegistrationID {
        var generator = SystemRandomNumberGenerator()
        return self.random(using: &generator)
    }

    /// See ``random()``; the generator must be as hard to guess as the system's.
    package static func random(using generator: inout some RandomNumberGenerator) -> RegistrationID {
        let time = UInt64(clamping: Timestamp.now.milliseconds)
        let text = unsafe String(unsafeUninitializedCapacity: 32) { buffer in
            var bits: UInt64 = 0
            for index in 0..<32 {
                // 45 bits of time reach to the year 3084; a random number has twelve digits of five bits.
                if index == 9 || index == 21 { bits = generator.next() }
                let digit = index < 9 ? time >> UInt64(40 - 5 * index) : bits
                unsafe buffer[index] = UInt8(digit: UInt8(truncatingIfNeeded: digit & 31))
                if index >= 9 { bits >>= 5 }
            }
            return 32
        }
        return RegistrationID(unchecked: text)
    }

    /// Any text of 1 to 128 letters, digits, `-`, `_`, `.` or `~` can be an id: apps that move here keep those of other backends.
    ///
    /// - Returns: nil when the text cannot be an id.
    package init?(_ text: String) {
        let unreserved = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
                UInt8(ascii: "~"):
                true
            default: false
            }
        }
        guard unreserved, (1...128).contains(text.utf8.count) else { return nil }
        self.text = text
    }

    private init(unchecked text: String) { self.text = text }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let id = RegistrationID(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a registration id")
        }
        self = id
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.text)
    }

    package var description: String { self.text }
}
