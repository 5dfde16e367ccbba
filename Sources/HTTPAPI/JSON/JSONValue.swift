import PushModel

/// A JSON value that remembers the order of its members, and duplicates.
///
/// It is read by ``JSONReader``, which bounds depth, and written without spaces. Numbers stay texts: nothing is lost or rounded.
enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([Member])
    /// What was written already, by ``JSONWriter``.
    case written([UInt8])

    struct Member: Sendable, Equatable {
        let name: String
        let value: JSONValue
    }

    /// The kind of value, for messages.
    var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object, .written: "an object"
        }
    }

    static func integer(_ number: some BinaryInteger) -> JSONValue { .number(String(number)) }

    static func strings(_ texts: [String]) -> JSONValue { .array(texts.map(JSONValue.string)) }

    /// An object of the members that are there: nil is left out.
    static func members(_ members: KeyValuePairs<String, JSONValue?>) -> JSONValue {
        .object(members.compactMap { name, value in value.map { Member(name: name, value: $0) } })
    }

    /// The JSON text in UTF-8.
    var bytes: [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(1024)
        self.write(to: &output)
        return output
    }

    func write(to output: inout [UInt8]) {
        switch self {
        case .null: output.append(contentsOf: "null".utf8)
        case .bool(let value): output.append(contentsOf: (value ? "true" : "false").utf8)
        case .number(let text): output.append(contentsOf: text.utf8)
        case .string(let text): output.appendJSONString(text)
        case .written(let text): output.append(contentsOf: text)
        case .array(let values):
            output.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                value.write(to: &output)
            }
            output.append(UInt8(ascii: "]"))
        case .object(let members):
            output.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                output.appendJSONString(member.name)
                output.append(UInt8(ascii: ":"))
                member.value.write(to: &output)
            }
            output.append(UInt8(ascii: "}"))
        }
    }
}
