/// A JSON value that is written with its members in the order given.
///
/// Push services and existing apps see the order that the contract has; `JSONEncoder` promises none.
enum JSONText {
    case string(String)
    case integer(Int)
    /// Members are written as they come: the caller sees to it that no name is there twice.
    case object([(name: String, value: JSONText)])

    /// An object of texts, ordered by name so that the bytes do not depend on a dictionary's mood.
    static func object(_ texts: [String: String]) -> JSONText { .object(Self.members(texts)) }

    /// The members of ``object(_:)``, to stand beside others.
    static func members(_ texts: [String: String]) -> [(name: String, value: JSONText)] {
        texts.sorted { $0.key < $1.key }.map { (name: $0.key, value: .string($0.value)) }
    }

    private static let digits = Array("0123456789abcdef".utf8)

    /// The JSON text in UTF-8, without spaces.
    var bytes: [UInt8] {
        var output: [UInt8] = []
        self.write(to: &output)
        return output
    }

    private func write(to output: inout [UInt8]) {
        switch self {
        case .string(let text):
            Self.quote(text, to: &output)
        case .integer(let number):
            output.append(contentsOf: String(number).utf8)
        case .object(let members):
            output.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                Self.quote(member.name, to: &output)
                output.append(UInt8(ascii: ":"))
                member.value.write(to: &output)
            }
            output.append(UInt8(ascii: "}"))
        }
    }

    /// Writes a JSON string (RFC 8259, section 7: quote, backslash and U+0000 to U+001F must be escaped, all else may stand).
    private static func quote(_ text: String, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                output.append(UInt8(ascii: "\\"))
                output.append(byte)
            case 0x08: output.append(contentsOf: "\\b".utf8)
            case 0x09: output.append(contentsOf: "\\t".utf8)
            case 0x0A: output.append(contentsOf: "\\n".utf8)
            case 0x0C: output.append(contentsOf: "\\f".utf8)
            case 0x0D: output.append(contentsOf: "\\r".utf8)
            case 0..<0x20:
                output.append(contentsOf: "\\u00".utf8)
                output.append(Self.digits[Int(byte >> 4)])
                output.append(Self.digits[Int(byte & 15)])
            default: output.append(byte)
            }
        }
        output.append(UInt8(ascii: "\""))
    }
}
