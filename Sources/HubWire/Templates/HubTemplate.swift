package import PushModel

/// The body of a template: a JSON or XML document whose values may be expressions.
///
/// It is filled in as a document and not as text, so that no value of a send can break it or add to it.
package struct HubTemplate: Sendable {
    private indirect enum Body: Sendable {
        case json(JSONValue)
        case xml(XMLTree)
        /// A raw notification: the whole is one value.
        case text(TemplateExpression)
    }

    private let body: Body

    /// The most bytes of the values of a notification: far more than a push service takes, and no burden.
    package static let maximumValues = 64 << 10

    /// Reads a template and checks all of its expressions.
    ///
    /// - Parameters:
    ///   - text: The body of the template.
    ///   - isRaw: Whether it is for raw bytes, which need no document.
    /// - Throws: ``InvalidValue`` that names the place.
    package init(_ text: String, isRaw: Bool = false) throws(InvalidValue) {
        let bytes = Array(text.utf8)
        let first = text.unicodeScalars.first { !$0.properties.isWhitespace && $0 != "\u{FEFF}" }
        switch first {
        case "<":
            let tree: XMLTree
            do throws(XMLSyntaxError) { tree = try XMLReader.read(bytes) } catch {
                throw InvalidValue(
                    "the template is not XML: line \(error.line), column \(error.column): \(error.reason)"
                )
            }
            var room = Int.max
            _ = try Self.fill(tree, nil, &room)
            self.body = .xml(tree)
        case "{", "[":
            let value: JSONValue
            do throws(JSONSyntaxError) { value = try JSONReader.read(bytes) } catch {
                // {'Hi ' + $(name)} is no document, but a raw notification can be that.
                guard isRaw else {
                    throw InvalidValue(
                        "the template is not JSON: line \(error.line), column \(error.column): \(error.reason)"
                    )
                }
                self.body = .text(try TemplateExpression(text))
                return
            }
            var room = Int.max
            _ = try Self.fill(value, nil, &room)
            self.body = .json(value)
        default:
            guard isRaw else { throw InvalidValue("a template is a JSON or XML document") }
            self.body = .text(try TemplateExpression(text))
        }
    }

    /// The name of an XML template's root; nil for any other.
    package var root: String? { if case .xml(let tree) = self.body { tree.name } else { nil } }

    /// The notification for the properties of a send.
    ///
    /// - Throws: ``InvalidValue`` where the values are longer than ``maximumValues`` together.
    package func filled(_ properties: TemplateProperties) throws(InvalidValue) -> [UInt8] {
        var room = Self.maximumValues
        switch self.body {
        case .json(let value): return try Self.fill(value, properties, &room).bytes
        case .xml(let tree): return try Self.fill(tree, properties, &room).bytes
        case .text(let expression): return Array(try Self.fill(expression, properties, &room).text.utf8)
        }
    }

    private static func fill(
        _ expression: TemplateExpression,
        _ properties: TemplateProperties,
        _ room: inout Int
    ) throws(InvalidValue) -> TemplateExpression.Value {
        let value = expression.value(for: properties, room: &room)
        guard room >= 0 else {
            throw InvalidValue("the values of the notification have more than \(Self.maximumValues) bytes")
        }
        return value
    }

    /// Fills in the texts of a value; their names are no expressions.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - properties: nil = its expressions are only read.
    ///   - room: How many bytes the values may have; what is filled in is taken off.
    /// - Returns: The value.
    /// - Throws: ``InvalidValue`` for a malformed expression.
    private static func fill(
        _ value: JSONValue,
        _ properties: TemplateProperties?,
        _ room: inout Int
    ) throws(InvalidValue) -> JSONValue {
        switch value {
        case .null, .bool, .number, .written: return value
        case .string(let text):
            let expression = try TemplateExpression(text)
            guard let properties else { return value }
            switch try Self.fill(expression, properties, &room) {
            case .text(let text): return .string(text)
            case .number(let number): return .number(number)
            }
        case .array(let values):
            var filled: [JSONValue] = []
            for value in values { filled.append(try Self.fill(value, properties, &room)) }
            return .array(filled)
        case .object(let members):
            var filled: [JSONValue.Member] = []
            for member in members {
                do { filled.append(.init(member.name, try Self.fill(member.value, properties, &room))) } catch {
                    throw error.named(String(member.name.prefix(40)))
                }
            }
            return .object(filled)
        }
    }

    /// Fills in the attributes and the text of elements that have no others within.
    private static func fill(
        _ tree: XMLTree,
        _ properties: TemplateProperties?,
        _ room: inout Int
    ) throws(InvalidValue) -> XMLTree {
        var filled = tree
        for index in filled.attributes.indices where !filled.attributes[index].name.hasPrefix("xmlns") {
            let attribute = filled.attributes[index]
            do {
                filled.attributes[index].value = try Self.fill(attribute.value, properties, &room)
            } catch { throw error.named("\(tree.name.prefix(40))/@\(attribute.name.prefix(40))") }
        }
        let elements = tree.elements
        guard elements.isEmpty else {
            var contents: [XMLTree.Content] = []
            for content in tree.contents {
                guard case .element(let element) = content else {
                    contents.append(content)
                    continue
                }
                contents.append(.element(try Self.fill(element, properties, &room)))
            }
            filled.contents = contents
            return filled
        }
        let text = tree.text
        guard !text.isEmpty else { return filled }
        do { filled.contents = [.text(try Self.fill(text, properties, &room))] } catch {
            throw error.named(String(tree.name.prefix(40)))
        }
        return filled
    }

    private static func fill(
        _ text: String,
        _ properties: TemplateProperties?,
        _ room: inout Int
    ) throws(InvalidValue) -> String {
        let expression = try TemplateExpression(text)
        guard let properties else { return text }
        return try Self.fill(expression, properties, &room).text
    }
}
