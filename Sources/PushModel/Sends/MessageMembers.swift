/// What a message has beside title, body and data: checked values by their paths in a send, such as `badge` or `fcm.channel`.
///
/// A job keeps them as the text of one flat JSON object. `MessageMember` (in `Payloads`) knows what they are.
package struct MessageMembers: Sendable, Equatable {
    package let values: [JSONValue.Member]

    /// Members of a message; nil if there are none, so that equal messages are equal.
    ///
    /// - Parameter values: Each path once.
    package init?(_ values: [JSONValue.Member]) {
        guard !values.isEmpty else { return nil }
        self.values = values
    }

    package subscript(path: String) -> JSONValue? { self.values.first { $0.name == path }?.value }

    /// The text at a path.
    package func text(_ path: String) -> String? {
        if case .string(let text)? = self[path] { text } else { nil }
    }

    /// The whole number at a path.
    package func integer(_ path: String) -> Int? {
        if case .number(let text)? = self[path] { Int(text) } else { nil }
    }

    /// Whether the flag at a path is set.
    package func isSet(_ path: String) -> Bool { self[path] == .bool(true) }
}

extension MessageMembers: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard case .object(let members)? = try? JSONReader.read(Array(container.decode(String.self).utf8)),
            let read = MessageMembers(members)
        else { throw DecodingError.dataCorruptedError(in: container, debugDescription: "no members of a message") }
        self = read
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(JSONValue.object(self.values).compactText)
    }
}
