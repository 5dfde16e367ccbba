/// A JSON value that remembers the order of its members, and duplicates.
///
/// Push services and existing apps see the order that the contract has; `JSONEncoder` promises none. ``JSONWriter`` writes it. Numbers
/// stay texts: nothing is lost or rounded.
package enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    /// Members are written in order; the caller avoids duplicate names.
    case object([Member])
    /// JSON text already written by ``JSONWriter``.
    case written([UInt8])

    /// A name and its value.
    package struct Member: Sendable, Equatable {
        package let name: String
        package let value: JSONValue

        package init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// The kind of value, for messages.
    package var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object, .written: "an object"
        }
    }

    /// The fault of a value of another kind than is expected, such as "a string".
    package func mustBe(_ expected: String) -> String { "must be \(expected), not \(self.kind)" }

    /// A whole number.
    package static func integer(_ number: Int) -> JSONValue { .number(String(number)) }

    /// An array of texts.
    package static func strings(_ texts: [String]) -> JSONValue { .array(texts.map(JSONValue.string)) }

    /// An object of the members that are there: nil is left out.
    package static func members(_ members: KeyValuePairs<String, JSONValue?>) -> JSONValue {
        .object(members.compactMap { name, value in value.map { Member(name, $0) } })
    }

    /// An object of texts, ordered by name so that the bytes do not depend on a dictionary's mood.
    package static func texts(_ texts: [String: String]) -> JSONValue { .object(Self.members(ofTexts: texts)) }

    /// The members of ``texts(_:)``, to stand beside others.
    package static func members(ofTexts texts: [String: String]) -> [Member] {
        texts.sorted { $0.key < $1.key }.map { Member($0.key, .string($0.value)) }
    }

    /// The JSON text in UTF-8, without spaces.
    package var bytes: [UInt8] { JSONWriter.bytes(of: self) }

    /// The JSON text, without spaces.
    package var compactText: String { String(decoding: self.bytes, as: UTF8.self) }

    /// The JSON text with a line for each value, two spaces a level, and no line break at its end: for people.
    package var indentedText: String {
        String(decoding: JSONWriter.bytes(of: self, isIndented: true), as: UTF8.self)
    }
}
