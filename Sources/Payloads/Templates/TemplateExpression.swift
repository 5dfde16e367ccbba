package import PushModel
import Synchronization

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
    ///
    /// - Throws: ``InvalidValue`` where it is longer than all values of a notification may be.
    package func value(for properties: TemplateProperties) throws(InvalidValue) -> Value {
        var filling = TemplateFilling(properties: properties)
        return try filling.value(of: self)
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
                    properties.clipped(name, to: most, hasDots: hasDots)
                        ?? TextCuts.clip(otherwise, to: most, hasDots: hasDots)
                case .encoded(let name, let otherwise): PercentCoding.encode(properties[name] ?? otherwise)
                case .number(let name, let otherwise): properties[name] ?? otherwise
                }
            room -= piece.utf8.count
            guard room >= 0 else { break }
            text += piece
        }
        return .text(text)
    }

    /// Whether JSON has such a number; a text such as `1]` never becomes one.
    private static func isNumber(_ text: String) -> Bool {
        guard text.utf8.count <= 40, case .number(let number)? = try? JSONReader.read(Array(text.utf8)) else {
            return false
        }
        // Without the spaces that may stand around a number.
        return number.utf8.count == text.utf8.count
    }
}

/// The properties of a template send, by names without letter case.
///
/// They are made once for all templates of a send: where the characters of a value end is then found once.
package struct TemplateProperties: Sendable {
    /// By names in small letters.
    package let values: [String: String]
    private let cuts = SharedCuts()

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
                throw InvalidValue(member: String(member.name.prefix(40)), member.value.mustBe("a string"))
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

    /// The value of a property, clipped; nil = the send has none.
    func clipped(_ name: String, to most: Int?, hasDots: Bool) -> String? {
        let key = name.withoutCapitals
        guard let text = self.values[key] else { return nil }
        return self.cuts.known.withLock { known in
            known[key, default: TextCuts(text)].clip(to: most, hasDots: hasDots)
        }
    }

    /// Shared by all copies.
    private final class SharedCuts: Sendable {
        let known = Mutex<[String: TextCuts]>([:])
    }
}
