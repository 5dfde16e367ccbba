import Foundation

#if canImport(FoundationXML)
import FoundationXML
#endif

/// Whether bytes are well-formed XML.
package enum WellFormedXML {
    /// The name of the root element; nil where the text is not well-formed or has a document type.
    package static func root(of text: [UInt8]) -> String? {
        let data = Data(text)
        // No push needs a DTD, and entities in one can grow without bound.
        guard data.range(of: Data("<!DOCTYPE".utf8)) == nil else { return nil }
        let reader = ElementReader()
        let parser = XMLParser(data: data)
        parser.delegate = reader
        return parser.parse() && reader.depth == 0 ? reader.root : nil
    }
}

/// Takes the events of Foundation's parser.
private final class ElementReader: NSObject, XMLParserDelegate {
    private(set) var root: String?
    /// Elements that are open: at the end of unfinished text, the parser itself sees nothing wrong.
    private(set) var depth = 0

    func parser(
        _ parser: XMLParser,
        didStartElement elementName: String,
        namespaceURI: String?,
        qualifiedName qName: String?,
        attributes attributeDict: [String: String]
    ) {
        if self.root == nil { self.root = elementName }
        self.depth += 1
    }

    func parser(
        _ parser: XMLParser,
        didEndElement elementName: String,
        namespaceURI: String?,
        qualifiedName qName: String?
    ) {
        self.depth -= 1
    }
}
