import Foundation

#if canImport(FoundationXML)
import FoundationXML
#endif

/// Whether bytes are well-formed XML.
package enum WellFormedXML {
    /// The name of the root element; nil where the text is not well-formed or has a document type.
    package static func root(of text: [UInt8]) -> String? {
        let data = Data(text)
        // No push needs a DTD, and entities in one can grow without bound. In another encoding the parser could find what this does not.
        guard Self.isPlainlyUTF8(text), data.range(of: Data("<!DOCTYPE".utf8)) == nil else { return nil }
        let reader = RootReader()
        let parser = XMLParser(data: data)
        parser.delegate = reader
        // Of what follows the root, or is missing at the end, the parser says so in its error alone.
        return parser.parse() && parser.parserError == nil ? reader.root : nil
    }

    /// Whether the parser reads the bytes as UTF-8: it believes an encoding that is declared, and guesses one from zero bytes.
    private static func isPlainlyUTF8(_ text: [UInt8]) -> Bool {
        guard !text.contains(0) else { return false }
        let start = text.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        let declaration = String(decoding: text[start...].prefix { $0 != UInt8(ascii: ">") }, as: UTF8.self)
        guard declaration.hasPrefix("<?xml"), let end = declaration.dropFirst(5).first, end.isWhitespace,
            let name = declaration.range(of: "encoding")
        else { return true }
        let value = declaration[name.upperBound...].drop { $0.isWhitespace || $0 == "=" }
        return ["\"utf-8\"", "'utf-8'"].contains { value.lowercased().hasPrefix($0) }
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
