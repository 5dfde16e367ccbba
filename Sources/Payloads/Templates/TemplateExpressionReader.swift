import PushModel

/// Reads a ``TemplateExpression``, character by character.
struct TemplateExpressionReader {
    private let text: [Character]
    private var position = 0
    private static let longestName = 120

    init(_ text: String) { self.text = Array(text) }

    mutating func parts() throws(InvalidValue) -> [TemplateExpression.Part] {
        let parts = self.current == "{" ? try self.concatenation() : [try self.token()]
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
            case "'", "\"": parts.append(.constant(try self.quoted()))
            case "$", ".", "%": parts.append(try self.token())
            case "#": throw self.fault("#(…) must stand alone")
            default: throw self.fault("a text in quotes, $(…), .(…) or %(…) is missing here")
            }
            self.skipSpace()
            if self.take("}") { return parts }
            guard self.take("+") else { throw self.fault("+ or } is missing here") }
        }
    }

    /// Reads a text in quotes; a quote within is doubled.
    private mutating func quoted() throws(InvalidValue) -> String {
        let start = self.position
        guard let quote = self.current else { throw self.fault("a quote is missing here") }
        self.position += 1
        var text = ""
        while let character = self.current {
            self.position += 1
            guard character == quote else {
                text.append(character)
                continue
            }
            guard self.current == quote else { return text }
            text.append(quote)
            self.position += 1
        }
        self.position = start
        throw self.fault("this quote is not closed")
    }

    /// Reads `$(name)`, `$(name, 20)`, `.(name, 20)`, `%(name)` or `#(name)`, each perhaps with `:{default}`.
    private mutating func token() throws(InvalidValue) -> TemplateExpression.Part {
        guard let sign = self.current else { throw self.fault("an expression is missing here") }
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
        let word = self.text[self.position...].prefix { ($0.isASCII && ($0.isLetter || $0.isNumber)) || $0 == "_" }
        guard (1...Self.longestName).contains(word.count) else {
            throw self.fault("the name of a property is missing here: 1 to \(Self.longestName) letters, digits and _")
        }
        self.position += word.count
        return String(word)
    }

    /// Reads `{default}`; a backslash escapes the next character.
    private mutating func braces() throws(InvalidValue) -> String {
        self.skipSpace()
        let start = self.position
        guard self.take("{") else { throw self.fault("{ is missing here: a default is written $(name:{text})") }
        var text = ""
        while let character = self.current {
            self.position += 1
            if character == "}" { return text }
            guard character == "\\" else {
                text.append(character)
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
        let digits = self.text[self.position...].prefix { $0.isASCII && $0.isNumber }
        guard (1...6).contains(digits.count), let number = Int(String(digits)) else {
            throw self.fault("a length is missing here: a whole number of at most six digits")
        }
        self.position += digits.count
        return number
    }

    private var current: Character? { self.position < self.text.count ? self.text[self.position] : nil }

    private mutating func take(_ character: Character) -> Bool {
        guard self.current == character else { return false }
        self.position += 1
        return true
    }

    private mutating func skipSpace() { while self.current == " " || self.current == "\t" { self.position += 1 } }

    private func fault(_ reason: String) -> InvalidValue {
        InvalidValue("template expression, column \(self.position + 1): \(reason)")
    }
}
