import PushModel

/// Reads a ``TemplateExpression``, byte by byte: all that has a meaning in it is ASCII.
struct TemplateExpressionReader {
    private let text: [UInt8]
    private var position = 0
    private static let longestName = 120

    init(_ text: String) { self.text = Array(text.utf8) }

    mutating func parts() throws(InvalidValue) -> [TemplateExpression.Part] {
        let parts = self.current == UInt8(ascii: "{") ? try self.concatenation() : [try self.token()]
        guard self.position == self.text.count else { throw self.fault("nothing may follow the expression") }
        return parts
    }

    /// Reads `{'Hi ' + $(name)}`.
    private mutating func concatenation() throws(InvalidValue) -> [TemplateExpression.Part] {
        self.position += 1
        var parts: [TemplateExpression.Part] = []
        while true {
            self.skipSpace()
            switch self.current {
            case UInt8(ascii: "'"), UInt8(ascii: "\""): parts.append(.constant(try self.quoted()))
            case UInt8(ascii: "$"), UInt8(ascii: "."), UInt8(ascii: "%"): parts.append(try self.token())
            case UInt8(ascii: "#"): throw self.fault("#(…) must stand alone")
            default: throw self.fault("a text in quotes, $(…), .(…) or %(…) is missing here")
            }
            self.skipSpace()
            if self.take("}") { return parts }
            guard self.take("+") else { throw self.fault("+ or } is missing here") }
        }
    }

    private mutating func quoted() throws(InvalidValue) -> String {
        guard let text = QuotedText.read(self.text, at: &self.position) else {
            throw self.fault("this quote is not closed")
        }
        return text
    }

    /// Reads `$(name)`, `$(name, 20)`, `.(name, 20)`, `%(name)` or `#(name)`, each perhaps with `:{default}`.
    private mutating func token() throws(InvalidValue) -> TemplateExpression.Part {
        guard let sign = self.current.map(Unicode.Scalar.init) else {
            throw self.fault("an expression is missing here")
        }
        self.position += 1
        guard self.take("(") else { throw self.fault("( is missing here") }
        self.skipSpace()
        let name = try self.name()
        self.skipSpace()
        let otherwise = self.take(":") ? try self.braces() : ""
        self.skipSpace()
        let most = self.take(",") ? try self.number() : nil
        self.skipSpace()
        guard self.take(")") else { throw self.fault(") is missing here") }
        switch (sign, most) {
        case ("$", _): return .property(name, most: most, hasDots: false, otherwise: otherwise)
        case (".", .some): return .property(name, most: most, hasDots: true, otherwise: otherwise)
        case (".", nil): throw self.fault(".(…) needs a length, as in .(name, 20)")
        case (_, .some): throw self.fault("\(sign)(…) takes no length")
        case ("%", nil): return .encoded(name, otherwise: otherwise)
        case ("#", nil): return .number(name, otherwise: otherwise)
        default: throw self.fault("an expression begins with $ . % # or {")
        }
    }

    private mutating func name() throws(InvalidValue) -> String {
        let word = self.text[self.position...].prefix { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        guard (1...Self.longestName).contains(word.count) else {
            throw self.fault("the name of a property is missing here: 1 to \(Self.longestName) letters, digits and _")
        }
        self.position += word.count
        return String(decoding: word, as: UTF8.self)
    }

    /// Reads `{default}`; a backslash escapes the next character.
    private mutating func braces() throws(InvalidValue) -> String {
        self.skipSpace()
        let start = self.position
        guard self.take("{") else { throw self.fault("{ is missing here: a default is written $(name:{text})") }
        var text: [UInt8] = []
        while let byte = self.current {
            self.position += 1
            if byte == UInt8(ascii: "}") { return String(decoding: text, as: UTF8.self) }
            guard byte == UInt8(ascii: "\\") else {
                text.append(byte)
                continue
            }
            guard let escaped = self.current else { break }
            text.append(escaped)
            self.position += 1
        }
        self.position = start
        throw self.fault("this brace is not closed")
    }

    private mutating func number() throws(InvalidValue) -> Int {
        self.skipSpace()
        let digits = self.text[self.position...].prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard (1...6).contains(digits.count), let number = Int(String(decoding: digits, as: UTF8.self)) else {
            throw self.fault("a length is missing here: a whole number of at most six digits")
        }
        self.position += digits.count
        return number
    }

    private var current: UInt8? { self.position < self.text.count ? self.text[self.position] : nil }

    private mutating func take(_ sign: Unicode.Scalar) -> Bool {
        guard self.current == UInt8(ascii: sign) else { return false }
        self.position += 1
        return true
    }

    private mutating func skipSpace() {
        while let byte = self.current, byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") { self.position += 1 }
    }

    private func fault(_ reason: String) -> InvalidValue {
        let column = String(decoding: self.text[..<self.position], as: UTF8.self).count + 1
        return InvalidValue("template expression, column \(column): \(reason)")
    }
}
