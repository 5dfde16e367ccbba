/// The id of a broadcast channel of APNs, which Apple makes: Base64, of a length that it does not say.
///
/// A channel is not a device: nobody registers it, and it takes updates of Live Activities alone.
package struct APNsChannelID: Sendable, Hashable, Codable, CustomStringConvertible {
    /// As Apple writes it.
    package let text: String

    /// - Throws: ``InvalidValue`` for what cannot be such an id.
    package init(_ text: String) throws(InvalidValue) {
        let digits = text.utf8.prefix { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                true
            default: false
            }
        }
        let rest = text.utf8.dropFirst(digits.count)
        guard !digits.isEmpty, rest.count <= 2, rest.allSatisfy({ $0 == UInt8(ascii: "=") }),
            text.utf8.count <= Handle.maximumLength
        else {
            throw InvalidValue(
                "must be the id of a broadcast channel as Apple gives it: Base64, at most \(Handle.maximumLength) characters"
            )
        }
        self.text = text
    }

    package init(from decoder: any Decoder) throws {
        try self.init(decoder.singleValueContainer().decode(String.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.text)
    }

    package var description: String { self.text }

    /// Where pushes to it go: it stands where a device's token stands.
    package var handle: Handle { Handle(stored: self.text) }
}
