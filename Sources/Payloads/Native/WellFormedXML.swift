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
        let reader = RootReader()
        let parser = XMLParser(data: data)
        parser.delegate = reader
        // Of what follows the root, or is missing at the end, the parser says so in its error alone.
        return parser.parse() && parser.parserError == nil ? reader.root : nil
    }
}

/// Takes the first element of Foundation's parser.
private final class RootReader: NSObject, XMLParserDelegate {
    private(set) var root: String?

    func parser(
        _ parser: XMLParser,
        didStartElement elementName: String,
        namespaceURI: String?,
        qualifiedName qName: String?,
        attributes attributeDict: [String: String]
    ) {
        if self.root == nil { self.root = elementName }
    }
}
