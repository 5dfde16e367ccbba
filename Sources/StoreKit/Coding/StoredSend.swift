package import PushModel

/// The stored form of the most frequent sends, a message to one tag or to a list, without the cost of a coder.
///
/// It is the JSON of ``StoredJSON``, member for member. Other sends are left to that.
package enum StoredSend {
    /// The JSON text, or nil if the work is of another kind.
    package static func text(_ work: Job.Work) -> String? {
        guard case .send(let send) = work, send.truncatedTags == 0, case .message(let message) = send.content else {
            return nil
        }
        if let ttl = send.timeToLive, ttl.components.attoseconds != 0 { return nil }
        if send.isDryRun || message.members != nil || send.original != nil { return nil }
        var text: [UInt8] = []
        text.reserveCapacity(256)
        text += Part.audience
        if let tag = send.audience.onlyTag {
            text.appendJSONString(tag.name)
        } else if case .list(let list) = send.audience, !list.isAtHub {
            text += Part.count + Array(String(list.count).utf8)
            text += Part.given + Array(String(list.given).utf8)
            text += Part.kind
            text.appendJSONString(list.kind.rawValue)
            text += Part.brace
        } else {
            return nil
        }
        if let collapse = send.collapse {
            text += Part.collapse
            text.appendJSONString(collapse)
        }
        text += Part.message
        if let body = message.body {
            text += Part.body
            text.appendJSONString(body)
            text.append(UInt8(ascii: ","))
        }
        text += Part.data
        for (index, pair) in message.data.sorted(by: { $0.key < $1.key }).enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            text.appendJSONString(pair.key)
            text.append(UInt8(ascii: ":"))
            text.appendJSONString(pair.value)
        }
        text.append(UInt8(ascii: "}"))
        if let title = message.title {
            text += Part.title
            text.appendJSONString(title)
        }
        text += Part.platforms
        for (index, pns) in send.platforms.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            text.appendJSONString(pns.rawValue)
        }
        text.append(UInt8(ascii: "]"))
        if let ttl = send.timeToLive {
            text += Part.ttl
            text += Array(String(ttl.components.seconds).utf8)
        }
        text += Part.end
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes the output of ``text(_:)``; nil for any other text, which may be valid too.
    package static func read(_ text: [UInt8]) -> SendRequest? {
        var reader = Reader(text)
        guard reader.take(Part.audience), let audience = self.audience(&reader) else { return nil }
        var collapse: String?
        if reader.take(Part.collapse) {
            guard let value = reader.string() else { return nil }
            collapse = value
        }
        guard reader.take(Part.message), let message = self.message(&reader), reader.take(Part.platforms) else {
            return nil
        }
        var platforms: [PushService] = []
        while !reader.take(Part.closing) {
            guard platforms.isEmpty || reader.take(Part.comma), let name = reader.string(),
                let pns = PushService(rawValue: name)
            else { return nil }
            platforms.append(pns)
        }
        var ttl: Duration?
        if reader.take(Part.ttl) {
            guard let seconds = reader.number() else { return nil }
            ttl = .seconds(seconds)
        }
        guard reader.take(Part.end), reader.isAtEnd else { return nil }
        return SendRequest(
            to: audience,
            platforms: platforms,
            content: .message(message),
            timeToLive: ttl,
            collapse: collapse
        )
    }

    private static func audience(_ reader: inout Reader) -> SendAudience? {
        guard reader.take(Part.count) else {
            return reader.string().flatMap { try? Tag(kept: $0) }.map { .tags(.tag($0)) }
        }
        guard let count = reader.number(), reader.take(Part.given), let given = reader.number(),
            reader.take(Part.kind), let kind = reader.string().flatMap(RecipientCount.Kind.init(rawValue:)),
            reader.take(Part.brace)
        else { return nil }
        return .list(RecipientCount(kind: kind, given: Int(given), count: Int(count)))
    }

    private static func message(_ reader: inout Reader) -> Content.Message? {
        var body: String?
        if reader.take(Part.body) {
            guard let value = reader.string(), reader.take(Part.comma) else { return nil }
            body = value
        }
        guard reader.take(Part.data) else { return nil }
        var data: [String: String] = [:]
        while !reader.take(Part.brace) {
            guard data.isEmpty || reader.take(Part.comma), let key = reader.string(), reader.take(Part.colon),
                let value = reader.string()
            else { return nil }
            data[key] = value
        }
        var title: String?
        if reader.take(Part.title) {
            guard let value = reader.string() else { return nil }
            title = value
        }
        return Content.Message(title: title, body: body, data: data)
    }

    /// The text between the values.
    private enum Part {
        static let audience = Array(#"{"send":{"_0":{"audience":"#.utf8)
        static let count = Array(#"{"count":"#.utf8)
        static let given = Array(#","given":"#.utf8)
        static let kind = Array(#","kind":"#.utf8)
        static let collapse = Array(#","collapse":"#.utf8)
        static let message = Array(#","content":{"message":{"_0":{"#.utf8)
        static let body = Array(#""body":"#.utf8)
        static let data = Array(#""data":{"#.utf8)
        static let title = Array(#","title":"#.utf8)
        static let platforms = Array(#"}}},"platforms":["#.utf8)
        static let ttl = Array(#","ttl":"#.utf8)
        static let end = Array("}}}".utf8)
        static let closing = Array("]".utf8)
        static let brace = Array("}".utf8)
        static let comma = Array(",".utf8)
        static let colon = Array(":".utf8)
    }

    private struct Reader {
        private let text: [UInt8]
        private var position = 0

        init(_ text: [UInt8]) { self.text = text }

        var isAtEnd: Bool { self.position == self.text.count }

        /// Goes behind `part`, if that comes next.
        mutating func take(_ part: [UInt8]) -> Bool {
            guard self.text.count - self.position >= part.count else { return false }
            for index in part.indices where self.text[self.position + index] != part[index] { return false }
            self.position += part.count
            return true
        }

        mutating func number() -> Int64? {
            let start = self.position
            while self.position < self.text.count, (0x30...0x39).contains(self.text[self.position]) {
                self.position += 1
            }
            return Int64(String(decoding: self.text[start..<self.position], as: UTF8.self))
        }

        mutating func string() -> String? {
            guard self.position < self.text.count, self.text[self.position] == UInt8(ascii: "\"") else { return nil }
            self.position += 1
            let start = self.position
            while self.position < self.text.count {
                switch self.text[self.position] {
                case UInt8(ascii: "\""):
                    self.position += 1
                    return String(decoding: self.text[start..<self.position - 1], as: UTF8.self)
                case UInt8(ascii: "\\"): return self.escaped(from: start)
                default: self.position += 1
                }
            }
            return nil
        }

        /// The rest of a string with escapes; only those that ``Swift/Array/appendJSONString(_:)`` writes.
        private mutating func escaped(from start: Int) -> String? {
            var bytes = Array(self.text[start..<self.position])
            while self.position < self.text.count {
                let byte = self.text[self.position]
                self.position += 1
                switch byte {
                case UInt8(ascii: "\""): return String(decoding: bytes, as: UTF8.self)
                case UInt8(ascii: "\\"):
                    guard let value = self.escape() else { return nil }
                    bytes.append(value)
                default: bytes.append(byte)
                }
            }
            return nil
        }

        private mutating func escape() -> UInt8? {
            guard self.position < self.text.count else { return nil }
            let byte = self.text[self.position]
            self.position += 1
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): return byte
            case UInt8(ascii: "b"): return 0x08
            case UInt8(ascii: "t"): return 0x09
            case UInt8(ascii: "n"): return 0x0A
            case UInt8(ascii: "f"): return 0x0C
            case UInt8(ascii: "r"): return 0x0D
            case UInt8(ascii: "u"):
                guard self.text.count - self.position >= 4, self.text[self.position] == UInt8(ascii: "0"),
                    self.text[self.position + 1] == UInt8(ascii: "0"),
                    let high = PercentCoding.digit(self.text[self.position + 2]), high < 2,
                    let low = PercentCoding.digit(self.text[self.position + 3])
                else { return nil }
                self.position += 4
                return UInt8(high << 4 | low)
            default: return nil
            }
        }
    }
}

extension TagExpression {
    /// The tag that it consists of; nil if it is more than one.
    package var onlyTag: Tag? { self.steps.count == 1 ? self.tags.first : nil }
}

extension SendAudience {
    /// The tag of a send to just one.
    package var onlyTag: Tag? {
        if case .tags(let expression) = self { expression.onlyTag } else { nil }
    }
}
