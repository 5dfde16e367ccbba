import Foundation
import PushModel

/// JSON for programs that read our output: members in the order given, two spaces a level.
indirect enum JSONOutput: Sendable {
    case null
    case bool(Bool)
    case integer(Int)
    case text(String)
    case array([JSONOutput])
    case object([(name: String, value: JSONOutput)])

    /// An object of the members that are there: nil is left out.
    static func members(_ members: KeyValuePairs<String, JSONOutput?>) -> JSONOutput {
        .object(members.compactMap { name, value in value.map { (name: name, value: $0) } })
    }

    /// The JSON text, without a line break at its end.
    func text(indent: String = "") -> String {
        let inner = indent + "  "
        switch self {
        case .null: return "null"
        case .bool(let value): return value ? "true" : "false"
        case .integer(let number): return String(number)
        case .text(let text): return Self.quote(text)
        case .array(let values):
            guard !values.isEmpty else { return "[]" }
            return "[\n" + values.map { inner + $0.text(indent: inner) }.joined(separator: ",\n") + "\n\(indent)]"
        case .object(let members):
            guard !members.isEmpty else { return "{}" }
            let lines = members.map { "\(inner)\(Self.quote($0.name)): \($0.value.text(indent: inner))" }
            return "{\n" + lines.joined(separator: ",\n") + "\n\(indent)}"
        }
    }

    private static func quote(_ text: String) -> String {
        var bytes: [UInt8] = []
        bytes.appendJSONString(text)
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension JSONOutput {
    /// What the API answered, as it answered it, with its members sorted.
    static func encoded(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(date.iso8601)
        }
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}

extension Date {
    /// RFC 3339 in UTC with milliseconds.
    var iso8601: String {
        Timestamp(milliseconds: Int64((self.timeIntervalSince1970 * 1000).rounded())).iso8601
    }
}
