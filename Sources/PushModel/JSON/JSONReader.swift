/// Reads untrusted JSON (RFC 8259): bounded depth, exact numbers, and errors with a line and column.
package struct JSONReader {
    /// Deeper nesting than this is refused.
    package static let maximumDepth = 32

    private let bytes: [UInt8]
    private var position = 0

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Reads a whole text.
    ///
    /// A lone surrogate in an escape becomes U+FFFD. Duplicate members are kept for the reader of the object to judge.
    package static func read(_ bytes: [UInt8]) throws(JSONSyntaxError) -> JSONValue {
        var reader = JSONReader(bytes)
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { reader.position = 3 }
        reader.skipSpace()
        let value = try reader.value(depth: 0)
        reader.skipSpace()
        guard reader.position == bytes.count else { throw reader.fault("nothing may follow the value") }
        return value
    }

    private var current: UInt8? { self.position < self.bytes.count ? self.bytes[self.position] : nil }

    private func fault(_ reason: String) -> JSONSyntaxError {
        let before = self.bytes.prefix(self.position)
        let line = before.count { $0 == UInt8(ascii: "\n") } + 1
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return JSONSyntaxError(line: line, column: self.position - lineStart + 1, reason: reason)
    }

    private mutating func skipSpace() {
        while let byte = self.current, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D {
            self.position += 1
        }
    }

    private mutating func expect(_ byte: UInt8, _ reason: String) throws(JSONSyntaxError) {
        guard self.current == byte else { throw self.fault(reason) }
        self.position += 1
    }

    private mutating func value(depth: Int) throws(JSONSyntaxError) -> JSONValue {
        guard depth <= Self.maximumDepth else { throw self.fault("nested deeper than \(Self.maximumDepth) levels") }
        switch self.current {
        case nil: throw self.fault("a value is missing")
        case UInt8(ascii: "{"): return try self.object(depth: depth)
        case UInt8(ascii: "["): return try self.array(depth: depth)
        case UInt8(ascii: "\""): return .string(try self.string())
        case UInt8(ascii: "t"): return try self.literal("true", .bool(true))
        case UInt8(ascii: "f"): return try self.literal("false", .bool(false))
        case UInt8(ascii: "n"): return try self.literal("null", .null)
        default: return try self.number()
        }
    }

    private mutating func literal(_ text: StaticString, _ value: JSONValue) throws(JSONSyntaxError) -> JSONValue {
        let expected = Array(String(describing: text).utf8)
        guard self.bytes[self.position...].starts(with: expected) else { throw self.fault("not a JSON value") }
        self.position += expected.count
        return value
    }

    private mutating func object(depth: Int) throws(JSONSyntaxError) -> JSONValue {
        self.position += 1
        var members: [JSONValue.Member] = []
        self.skipSpace()
        if self.current == UInt8(ascii: "}") {
            self.position += 1
            return .object([])
        }
        if depth == 0 { members.reserveCapacity(4) }
        while true {
            self.skipSpace()
            guard self.current == UInt8(ascii: "\"") else { throw self.fault("a member's name in quotes is missing") }
            let name = try self.string()
            self.skipSpace()
            try self.expect(UInt8(ascii: ":"), "a colon is missing")
            self.skipSpace()
            members.append(JSONValue.Member(name, try self.value(depth: depth + 1)))
            self.skipSpace()
            if self.current == UInt8(ascii: ",") {
                self.position += 1
                continue
            }
            try self.expect(UInt8(ascii: "}"), "a comma or } is missing")
            return .object(members)
        }
    }

    private mutating func array(depth: Int) throws(JSONSyntaxError) -> JSONValue {
        self.position += 1
        var values: [JSONValue] = []
        self.skipSpace()
        if self.current == UInt8(ascii: "]") {
            self.position += 1
            return .array([])
        }
        while true {
            self.skipSpace()
            values.append(try self.value(depth: depth + 1))
            self.skipSpace()
            if self.current == UInt8(ascii: ",") {
                self.position += 1
                continue
            }
            try self.expect(UInt8(ascii: "]"), "a comma or ] is missing")
            return .array(values)
        }
    }

    private mutating func number() throws(JSONSyntaxError) -> JSONValue {
        let start = self.position
        if self.current == UInt8(ascii: "-") { self.position += 1 }
        if self.current == UInt8(ascii: "0") { self.position += 1 } else { try self.digits() }
        if self.current == UInt8(ascii: ".") {
            self.position += 1
            try self.digits()
        }
        if self.current == UInt8(ascii: "e") || self.current == UInt8(ascii: "E") {
            self.position += 1
            if self.current == UInt8(ascii: "+") || self.current == UInt8(ascii: "-") { self.position += 1 }
            try self.digits()
        }
        return .number(String(decoding: self.bytes[start..<self.position], as: UTF8.self))
    }

    private mutating func digits() throws(JSONSyntaxError) {
        let start = self.position
        while let byte = self.current, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { self.position += 1 }
        guard self.position > start else { throw self.fault("not a JSON value") }
    }

    private mutating func string() throws(JSONSyntaxError) -> String {
        self.position += 1
        let start = self.position
        if let text = self.plainText() { return text }
        var text: [UInt8] = []
        while let byte = self.current {
            self.position += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let string = String(validating: text, as: UTF8.self) else {
                    self.position = start
                    throw self.fault("the string is not valid UTF-8")
                }
                return string
            case UInt8(ascii: "\\"): try self.escape(into: &text)
            case 0..<0x20:
                self.position -= 1
                throw self.fault("a control character in a string must be escaped")
            default: text.append(byte)
            }
        }
        throw self.fault("a string is not closed")
    }

    /// The rest of a string of ASCII without escapes, as nearly all are; nil if it is another, which nothing is read of.
    private mutating func plainText() -> String? {
        var end = self.position
        while end < self.bytes.count {
            switch self.bytes[end] {
            case UInt8(ascii: "\""):
                defer { self.position = end + 1 }
                return String(decoding: self.bytes[self.position..<end], as: UTF8.self)
            case UInt8(ascii: "\\"), 0..<0x20, 0x80...: return nil
            default: end += 1
            }
        }
        return nil
    }

    private mutating func escape(into text: inout [UInt8]) throws(JSONSyntaxError) {
        guard let byte = self.current else { throw self.fault("a string is not closed") }
        self.position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text.append(contentsOf: String(Character(try self.unicode())).utf8)
        default:
            self.position -= 1
            throw self.fault("no such escape")
        }
    }

    /// The scalar of a `\u` escape, with its second half where it is a pair.
    private mutating func unicode() throws(JSONSyntaxError) -> Unicode.Scalar {
        let first = try self.fourDigits()
        if let scalar = Unicode.Scalar(first) { return scalar }
        let mark = self.position
        if first < 0xDC00, self.current == UInt8(ascii: "\\"), self.position + 1 < self.bytes.count,
            self.bytes[self.position + 1] == UInt8(ascii: "u")
        {
            self.position += 2
            let second = try self.fourDigits()
            if (0xDC00...0xDFFF).contains(second),
                let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
            {
                return scalar
            }
            self.position = mark
        }
        return "\u{FFFD}"
    }

    private mutating func fourDigits() throws(JSONSyntaxError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = self.current, let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else {
                throw self.fault("four hexadecimal digits must follow \\u")
            }
            value = value << 4 | UInt32(digit)
            self.position += 1
        }
        return value
    }
}

/// Where a text stops being JSON, and why.
///
/// Lines and columns (in bytes) count from 1.
package struct JSONSyntaxError: Error, Equatable {
    package let line: Int
    package let column: Int
    package let reason: String

    /// The fault of a body that was to be JSON.
    package var ofBody: String { "the body is not JSON: line \(self.line), column \(self.column): \(self.reason)" }
}
