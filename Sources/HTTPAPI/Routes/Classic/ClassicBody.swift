import PushModel
import WebServing

/// The body of a classic notification: a text, an object whose `message` is the text, or nothing.
///
/// A body between two quotes that is not JSON is taken literally: existing apps paste raw text there.
struct ClassicBody {
    /// nil where no text is given, and so for all that follows.
    let message: String?
    let richType: String?
    /// The id of uploaded content.
    let content: String?
    let isSecure: Bool?
    let platforms: [PushService]?

    /// - Throws: ``Problem`` 400 when the body is neither, or a member is of the wrong kind.
    init(_ body: [UInt8]) throws {
        let parsed = Result { () throws(JSONSyntaxError) in try JSONReader.read(body) }
        switch parsed {
        case .failure where body.isEmpty: self.init(message: nil)
        case .success(.string(let text)): self.init(message: text)
        case .success(.object(let members)): try self.init(TolerantMembers(.object(members)))
        case .success(let value):
            throw Problem.invalid([InvalidValue("the body must be one JSON string or an object, not \(value.kind)")])
        case .failure(let error):
            guard let text = Self.literal(body) else { throw Problem.invalid(error) }
            self.init(message: text)
        }
    }

    private init(message: String?) {
        self.message = message
        self.richType = nil
        self.content = nil
        self.isSecure = nil
        self.platforms = nil
    }

    private init(_ members: TolerantMembers) throws {
        self.message = try members.string("message")
        self.richType = try Self.name("richType", in: members)
        self.content = try Self.name("content", in: members)
        switch members["secure"] {
        case nil: self.isSecure = nil
        case .bool(let value): self.isSecure = value
        case let other?: throw Problem.invalid("secure", other.mustBe("true or false"))
        }
        switch members["platforms"] {
        case nil: self.platforms = nil
        case .array(let values): self.platforms = try SendTarget.services(values, member: "platforms", otherNames: true)
        case let other?: throw Problem.invalid("platforms", other.mustBe("an array"))
        }
    }

    private static func name(_ member: String, in members: TolerantMembers) throws -> String? {
        guard let text = try members.string(member) else { return nil }
        guard !text.utf8.contains(0) else { throw Problem.invalid(member, "must not hold U+0000") }
        return text
    }

    /// The text between the outer quotes.
    private static func literal(_ body: [UInt8]) -> String? {
        let space: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
        let bytes = Array(body.drop(while: space.contains).reversed().drop(while: space.contains).reversed())
        guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") else { return nil }
        return String(validating: bytes.dropFirst().dropLast(), as: UTF8.self)
    }
}
