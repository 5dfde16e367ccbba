package import PushModel

/// The body of a template: a JSON or XML document whose values may be expressions, all of which are read once.
///
/// It is filled in as a document and not as text, so that no value of a send can break it or add to it.
package struct HubTemplate: Sendable {
    private enum Body: Sendable {
        case json(JSONPart)
        case xml(XMLPart)
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
            self.body = .xml(try XMLPart(tree))
        case "{", "[":
            let value: JSONValue
            do throws(JSONSyntaxError) { value = try JSONReader.read(bytes) } catch {
                // {'Hi ' + $(name)} is not a document, but a raw notification can be that.
                guard isRaw else {
                    throw InvalidValue(
                        "the template is not JSON: line \(error.line), column \(error.column): \(error.reason)"
                    )
                }
                self.body = .text(try TemplateExpression(text))
                return
            }
            self.body = .json(try JSONPart(value))
        default:
            guard isRaw else { throw InvalidValue("a template is a JSON or XML document") }
            self.body = .text(try TemplateExpression(text))
        }
    }

    /// The name of an XML template's root; nil for any other.
    package var root: String? { if case .xml(let part) = self.body { part.name } else { nil } }

    /// The notification for the properties of a send.
    ///
    /// - Throws: ``InvalidValue`` where the values are longer than ``maximumValues`` together.
    package func filled(_ properties: TemplateProperties) throws(InvalidValue) -> [UInt8] {
        var filling = TemplateFilling(properties: properties)
        return try self.filled(&filling)
    }

    /// The same, where headers had some of the room.
    func filled(_ filling: inout TemplateFilling) throws(InvalidValue) -> [UInt8] {
        switch self.body {
        case .json(let part): return try part.filled(&filling).bytes
        case .xml(let part): return try part.filled(&filling).bytes
        case .text(let expression): return Array(try filling.value(of: expression).text.utf8)
        }
    }
}

/// The properties of a send, and how many bytes their values may still have.
struct TemplateFilling {
    let properties: TemplateProperties
    private var room = HubTemplate.maximumValues

    init(properties: TemplateProperties) { self.properties = properties }

    mutating func value(of expression: TemplateExpression) throws(InvalidValue) -> TemplateExpression.Value {
        let value = expression.value(for: self.properties, room: &self.room)
        guard self.room >= 0 else {
            throw InvalidValue("the values of the notification have more than \(HubTemplate.maximumValues) bytes")
        }
        return value
    }
}

/// A JSON value of a template; the names of members are not expressions.
private indirect enum JSONPart: Sendable {
    case constant(JSONValue)
    case text(TemplateExpression)
    case array([JSONPart])
    case object([(name: String, part: JSONPart)])

    init(_ value: JSONValue) throws(InvalidValue) {
        switch value {
        case .null, .bool, .number, .written: self = .constant(value)
        case .string(let text): self = .text(try TemplateExpression(text))
        case .array(let values):
            var parts: [JSONPart] = []
            for value in values { parts.append(try JSONPart(value)) }
            self = .array(parts)
        case .object(let members):
            var parts: [(name: String, part: JSONPart)] = []
            for member in members {
                do { parts.append((member.name, try JSONPart(member.value))) } catch {
                    throw error.named(String(member.name.prefix(40)))
                }
            }
            self = .object(parts)
        }
    }

    func filled(_ filling: inout TemplateFilling) throws(InvalidValue) -> JSONValue {
        switch self {
        case .constant(let value): return value
        case .text(let expression):
            switch try filling.value(of: expression) {
            case .text(let text): return .string(text)
            case .number(let number): return .number(number)
            }
        case .array(let parts):
            var values: [JSONValue] = []
            for part in parts { values.append(try part.filled(&filling)) }
            return .array(values)
        case .object(let parts):
            var members: [JSONValue.Member] = []
            for (name, part) in parts { members.append(.init(name, try part.filled(&filling))) }
            return .object(members)
        }
    }
}

/// An element of a template: its attributes may be expressions, and its text where it has no elements.
private struct XMLPart: Sendable {
    private enum Content: Sendable {
        case element(XMLPart)
        case text(TemplateExpression)
        case constant(XMLTree.Content)
    }

    let name: String
    private let attributes: [(name: String, value: TemplateExpression)]
    private let contents: [Content]

    init(_ tree: XMLTree) throws(InvalidValue) {
        self.name = tree.name
        var attributes: [(name: String, value: TemplateExpression)] = []
        for attribute in tree.attributes {
            do {
                let isDeclaration = attribute.name.hasPrefix("xmlns")
                let value = attribute.value
                attributes.append(
                    (attribute.name, isDeclaration ? .init(constant: value) : try TemplateExpression(value))
                )
            } catch { throw error.named("\(tree.name.prefix(40))/@\(attribute.name.prefix(40))") }
        }
        self.attributes = attributes
        var contents: [Content] = []
        if tree.elements.isEmpty {
            let text = tree.text
            if !text.isEmpty {
                do { contents = [.text(try TemplateExpression(text))] } catch {
                    throw error.named(String(tree.name.prefix(40)))
                }
            }
        } else {
            for content in tree.contents {
                guard case .element(let element) = content else {
                    contents.append(.constant(content))
                    continue
                }
                contents.append(.element(try XMLPart(element)))
            }
        }
        self.contents = contents
    }

    func filled(_ filling: inout TemplateFilling) throws(InvalidValue) -> XMLTree {
        var tree = XMLTree(self.name)
        for (name, value) in self.attributes {
            tree.attributes.append(.init(name, try filling.value(of: value).text))
        }
        for content in self.contents {
            switch content {
            case .element(let part): tree.contents.append(.element(try part.filled(&filling)))
            case .text(let expression): tree.contents.append(.text(try filling.value(of: expression).text))
            case .constant(let constant): tree.contents.append(constant)
            }
        }
        return tree
    }
}
