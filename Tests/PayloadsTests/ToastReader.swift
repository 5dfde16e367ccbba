import Foundation
import FoundationXML

/// Reads a toast as a Windows device would: any fault in the XML is an error.
final class ToastReader: NSObject, XMLParserDelegate {
    /// Element names in document order.
    private(set) var elements: [String] = []
    /// The content of each `text` element.
    private(set) var texts: [String] = []
    private(set) var launch: String?

    static func read(_ bytes: [UInt8]) throws -> ToastReader {
        let reader = ToastReader()
        let parser = XMLParser(data: Data(bytes))
        parser.delegate = reader
        guard parser.parse() else { throw parser.parserError ?? CocoaError(.coderReadCorrupt) }
        return reader
    }

    func parser(
        _ parser: XMLParser,
        didStartElement elementName: String,
        namespaceURI: String?,
        qualifiedName qName: String?,
        attributes attributeDict: [String: String] = [:]
    ) {
        self.elements.append(elementName)
        if elementName == "text" { self.texts.append("") }
        if elementName == "toast" { self.launch = attributeDict["launch"] }
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) {
        if !self.texts.isEmpty {
            self.texts[self.texts.count - 1].unicodeScalars.append(contentsOf: string.unicodeScalars)
        }
    }
}
