/// An XML element with its attributes and contents, in their order.
///
/// ``XMLReader`` reads it.
package struct XMLTree: Sendable, Equatable {
    /// As it is written, with its prefix.
    package let name: String
    package var attributes: [Attribute]
    package var contents: [Content]

    /// A name and its value, unescaped.
    package struct Attribute: Sendable, Equatable {
        package let name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// What stands between an element's tags.
    package enum Content: Sendable, Equatable {
        case element(XMLTree)
        /// Unescaped.
        case text(String)
        /// Text to be written as it is, in a section; a reader gives ``text(_:)`` for it.
        case section(String)
    }

    package init(_ name: String, attributes: [Attribute] = [], _ contents: [Content] = []) {
        self.name = name
        self.attributes = attributes
        self.contents = contents
    }

    /// An element with text alone.
    package init(_ name: String, attributes: [Attribute] = [], text: String) {
        self.init(name, attributes: attributes, text.isEmpty ? [] : [.text(text)])
    }

    /// An element of elements; nil is left out.
    package init(_ name: String, attributes: [Attribute] = [], elements: [XMLTree?]) {
        self.init(name, attributes: attributes, elements.compactMap { $0.map(Content.element) })
    }

    /// The name without its prefix.
    package var localName: Substring { Self.local(self.name) }

    /// The elements right below.
    package var elements: [XMLTree] {
        self.contents.compactMap { if case .element(let element) = $0 { element } else { nil } }
    }

    /// The text right below, put together.
    package var text: String {
        self.contents.reduce(into: "") { text, content in
            switch content {
            case .text(let piece), .section(let piece): text += piece
            case .element: break
            }
        }
    }

    /// The first element right below that has this name behind any prefix.
    package func first(_ localName: String) -> XMLTree? { self.elements.first { $0.localName == localName } }

    /// The value of the first attribute that has this name behind any prefix.
    package func attribute(_ localName: String) -> String? {
        self.attributes.first { Self.local($0.name) == localName }?.value
    }

    private static func local(_ name: String) -> Substring {
        name.utf8.lastIndex(of: UInt8(ascii: ":")).map { name[name.utf8.index(after: $0)...] } ?? name[...]
    }

    /// The XML text in UTF-8, without a declaration and without spaces between elements.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        self.append(to: &bytes)
        return bytes
    }

    private func append(to bytes: inout [UInt8]) {
        bytes.append(utf8Of: "<\(self.name)")
        for attribute in self.attributes {
            bytes.append(utf8Of: " \(attribute.name)=\"\(XMLText.escape(attribute.value))\"")
        }
        guard !self.contents.isEmpty else { return bytes.append(utf8Of: " />") }
        bytes.append(UInt8(ascii: ">"))
        for content in self.contents {
            switch content {
            case .element(let element): element.append(to: &bytes)
            case .text(let text): bytes.append(utf8Of: XMLText.escape(text))
            case .section(let text): bytes.append(utf8Of: XMLText.section(text))
            }
        }
        bytes.append(utf8Of: "</\(self.name)>")
    }
}
