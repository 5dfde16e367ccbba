package import PushModel

/// A value of a template that is filled in for each send: `$(name)`, `.(name, 20)`, `%(name)`, `#(name)`, `{'Hi ' + $(name)}`.
///
/// A text is one only by its first character; all others are constants.
package struct TemplateExpression: Sendable, Equatable {
    /// A piece of the value.
    enum Part: Sendable, Equatable {
        case constant(String)
        /// A property; clipped to so many characters, perhaps with three dots among them.
        case property(String, most: Int?, hasDots: Bool, otherwise: String)
        /// A property, percent-encoded.
        case encoded(String, otherwise: String)
        /// A property that may be a number.
        case number(String, otherwise: String)
    }

    let parts: [Part]
    /// The characters that an expression can begin with.
    private static let signs: Set<Character> = ["$", ".", "%", "#", "{"]

    /// Reads a value.
    ///
    /// - Throws: ``InvalidValue`` for what begins as an expression and is none.
    package init(_ text: String) throws(InvalidValue) {
        guard let first = text.first, Self.signs.contains(first) else {
            self.parts = [.constant(text)]
            return
        }
        var reader = TemplateExpressionReader(text)
        self.parts = try reader.parts()
    }

    /// A value that is none.
    init(constant text: String) { self.parts = [.constant(text)] }

    /// The value, where it is the same for every send; nil = it depends on the properties.
    var constant: String? {
        var text = ""
        for part in self.parts {
            guard case .constant(let piece) = part else { return nil }
            text += piece
        }
        return text
    }

    /// What it becomes.
    package enum Value: Sendable, Equatable {
        case text(String)
        /// A number as JSON has it.
        case number(String)

        /// The characters of either.
        package var text: String {
            switch self {
            case .text(let text), .number(let text): text
            }
        }
    }

    /// The value for the properties of a send.
    package func value(for properties: TemplateProperties) -> Value {
        var room = Int.max
        return self.value(for: properties, room: &room)
    }

    /// The same, bounded: a few expressions make much of a long property.
    ///
    /// - Parameters:
    ///   - properties: The properties of a send.
    ///   - room: How many bytes there may be; those of the value are taken off. Below zero the value is not whole.
    /// - Returns: The value.
    func value(for properties: TemplateProperties, room: inout Int) -> Value {
        if case .number(let name, let otherwise)? = self.parts.first, self.parts.count == 1 {
            let text = properties[name] ?? otherwise
            room -= text.utf8.count
            return Self.isNumber(text) ? .number(text) : .text(text)
        }
        var text = ""
        for part in self.parts {
            let piece =
                switch part {
                case .constant(let constant): constant
                case .property(let name, let most, let hasDots, let otherwise):
                    Self.clip(properties[name] ?? otherwise, to: most, hasDots: hasDots)
                case .encoded(let name, let otherwise): PercentCoding.encode(properties[name] ?? otherwise)
                case .number(let name, let otherwise): properties[name] ?? otherwise
                }
            room -= piece.utf8.count
            guard room >= 0 else { break }
            text += piece
        }
        return .text(text)
    }

    private static func clip(_ text: String, to most: Int?, hasDots: Bool) -> String {
        // Not by its count: that walks all of a long text.
        guard let most, let end = text.index(text.startIndex, offsetBy: most, limitedBy: text.endIndex),
            end < text.endIndex
        else { return text }
        guard hasDots else { return String(text[..<end]) }
        return text.prefix(max(0, most - 3)) + String(repeating: ".", count: min(3, most))
    }

    /// Whether JSON has such a number; a text such as `1]` never becomes one.
    private static func isNumber(_ text: String) -> Bool {
        text.utf8.count <= 40 && text.wholeMatch(of: /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/) != nil
    }
}

/// The properties of a template send, by names without letter case.
package struct TemplateProperties: Sendable, Equatable {
    /// By names in small letters.
    package let values: [String: String]

    /// Reads a flat JSON object of texts.
    ///
    /// - Throws: ``InvalidValue`` that names the property.
    package init(reading bytes: [UInt8]) throws(InvalidValue) {
        let value: JSONValue
        do throws(JSONSyntaxError) { value = try JSONReader.read(bytes) } catch {
            throw InvalidValue("the body is not JSON: line \(error.line), column \(error.column): \(error.reason)")
        }
        guard case .object(let members) = value else {
            throw InvalidValue("the body of a template send is an object of strings, not \(value.kind)")
        }
        var values: [String: String] = [:]
        for member in members {
            let text: String
            switch member.value {
            case .string(let string): text = string
            case .number(let number): text = number
            case .bool(let flag): text = flag ? "true" : "false"
            case .null: continue
            case .array, .object, .written:
                throw InvalidValue(member: String(member.name.prefix(40)), "must be a string, not \(member.value.kind)")
            }
            guard values.updateValue(text, forKey: member.name.withoutCapitals) == nil else {
                throw InvalidValue(member: String(member.name.prefix(40)), "is given twice, letter case apart")
            }
        }
        self.values = values
    }

    package init(_ values: [String: String]) {
        self.values = Dictionary(values.map { ($0.key.withoutCapitals, $0.value) }) { $1 }
    }

    /// The value of a property; nil = the send has none.
    package subscript(name: String) -> String? { self.values[name.withoutCapitals] }
}
