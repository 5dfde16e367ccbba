import PushModel

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

    /// The JSON text in UTF-8, without spaces.
    var bytes: [UInt8] {
        var output: [UInt8] = []
        // As much as most have: what grows is copied again and again.
        output.reserveCapacity(256)
        self.write(to: &output)
        return output
    }

    private func write(to output: inout [UInt8]) {
        switch self {
        case .string(let text):
            output.appendJSONString(text)
        case .integer(let number):
            output.append(contentsOf: String(number).utf8)
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
