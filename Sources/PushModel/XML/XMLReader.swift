/// Reads untrusted XML 1.0 with namespaces: in UTF-8, of bounded depth, without a document type and so without entities but the five.
///
/// Ours, because Foundation's reader ends the process at a processing instruction without data. The caller bounds the size.
package struct XMLReader {
    /// Deeper nesting than this is refused.
    package static let maximumDepth = 32

    private let bytes: [UInt8]
    private var position = 0
    private var known = XMLNames.Namespaces()

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Reads a whole text; comments and processing instructions are left out.
    ///
    /// - Throws: ``XMLSyntaxError`` for what is not well-formed, and for a document type.
    package static func read(_ text: [UInt8]) throws(XMLSyntaxError) -> XMLTree {
        guard let string = String(validating: text, as: UTF8.self) else {
            throw XMLSyntaxError(line: 1, column: 1, reason: "the text must be UTF-8")
        }
        // Every other way to break a line is read as a line feed (section 2.11).
        var reader = XMLReader(text.contains(0x0D) ? Self.withLineFeeds(text) : text)
        guard !string.unicodeScalars.contains(where: XMLText.isForbidden) else {
            throw XMLSyntaxError(line: 1, column: 1, reason: "a control character is not allowed in XML")
        }
        if text.starts(with: [0xEF, 0xBB, 0xBF]) { reader.position = 3 }
        try reader.declaration()
        try reader.skipMiscellany()
        guard !reader.isAt("<!") else { throw reader.fault("a document type is not taken") }
        guard reader.isAt("<") else { throw reader.fault("an element is missing") }
        let own = reader.known.number(of: "http://www.w3.org/XML/1998/namespace")
        let root = try reader.element(depth: 1, namespaces: ["xml": own])
        try reader.skipMiscellany()
        guard reader.position == reader.bytes.count else { throw reader.fault("nothing may follow the root element") }
        return root
    }

    private static func withLineFeeds(_ text: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        for byte in text {
            if byte == 0x0A, bytes.last == 0x0D { bytes.removeLast() }
            bytes.append(byte)
        }
        return bytes.map { $0 == 0x0D ? 0x0A : $0 }
    }

    // MARK: Around the root

    /// Far more than it needs.
    private static let longestDeclaration = 200

    /// Reads `<?xml version="1.0" encoding="utf-8"?>`, if there is one.
    private mutating func declaration() throws(XMLSyntaxError) {
        let start = self.bytes[self.position...]
        guard start.starts(with: "<?xml".utf8), let next = start.dropFirst(5).first, Self.isSpace(next) else { return }
        guard let end = start.prefix(Self.longestDeclaration).firstRange(of: Array("?>".utf8)) else {
            throw self.fault("the declaration is not closed, or has more than \(Self.longestDeclaration) bytes")
        }
        let text = String(decoding: start[..<end.upperBound], as: UTF8.self)
        let form =
            /<\?xml\s+version\s*=\s*(?:"1\.[0-9]{1,3}"|'1\.[0-9]{1,3}')(?:\s+encoding\s*=\s*(?:"([^"]*)"|'([^']*)'))?(?:\s+standalone\s*=\s*(?:"(?:yes|no)"|'(?:yes|no)'))?\s*\?>/
        guard let parts = text.wholeMatch(of: form) else { throw self.fault("the declaration is not well-formed") }
        let encoding = parts.1 ?? parts.2
        // In another encoding the same bytes would be another text.
        guard encoding.map({ $0.lowercased() == "utf-8" }) ?? true else {
            throw self.fault("the encoding must be UTF-8")
        }
        self.position = end.upperBound
    }

    /// Skips white space, comments and processing instructions.
    private mutating func skipMiscellany() throws(XMLSyntaxError) {
        while true {
            self.skipSpace()
            if self.isAt("<!--") {
                try self.skipComment()
            } else if self.isAt("<?") {
                try self.skipInstruction()
            } else {
                return
            }
        }
    }

    private mutating func skipComment() throws(XMLSyntaxError) {
        // The first two hyphens within end it, or are wrong.
        guard let end = self.bytes[(self.position + 4)...].firstRange(of: Array("--".utf8)) else {
            throw self.fault("this comment is not closed")
        }
        guard self.bytes[end.upperBound...].first == UInt8(ascii: ">") else {
            throw self.fault("two hyphens are not allowed in this comment")
        }
        self.position = end.upperBound + 1
    }

    private mutating func skipInstruction() throws(XMLSyntaxError) {
        let start = self.position
        self.position += 2
        let target = try self.name()
        guard target.lowercased() != "xml", !target.utf8.contains(UInt8(ascii: ":")) else {
            self.position = start
            throw self.fault("a processing instruction cannot be called \(target.prefix(40))")
        }
        guard self.isAt("?>") || self.current.map(Self.isSpace) == true,
            let end = self.bytes[self.position...].firstRange(of: Array("?>".utf8))
        else {
            self.position = start
            throw self.fault("this processing instruction is not closed")
        }
        self.position = end.upperBound
    }

    // MARK: Elements

    /// Reads an element whose `<` is here.
    ///
    /// - Parameters:
    ///   - depth: How deep it is; the root's is 1.
    ///   - outer: The numbers of the namespaces that are declared above it, by their prefixes.
    /// - Returns: The element.
    /// - Throws: ``XMLSyntaxError``.
    private mutating func element(depth: Int, namespaces outer: [String: Int]) throws(XMLSyntaxError) -> XMLTree {
        guard depth <= Self.maximumDepth else { throw self.fault("nested deeper than \(Self.maximumDepth) levels") }
        let start = self.position
        self.position += 1
        let name = try self.name()
        let (attributes, isEmpty) = try self.attributes()
        let namespaces: [String: Int]
        do throws(XMLNames.Fault) {
            namespaces = try XMLNames.namespaces(of: attributes, within: outer, known: &self.known)
            try XMLNames.check(name, attributes, namespaces)
        } catch {
            self.position = start
            throw self.fault(error.reason)
        }
        guard !isEmpty else { return XMLTree(name, attributes: attributes) }
        var contents: [XMLTree.Content] = []
        var text: [UInt8] = []
        func endText() {
            if !text.isEmpty { contents.append(.text(String(decoding: text, as: UTF8.self))) }
            text = []
        }
        while let byte = self.current {
            if byte == UInt8(ascii: "&") {
                try self.reference(into: &text)
            } else if byte != UInt8(ascii: "<") {
                guard byte != UInt8(ascii: "]") || !self.isAt("]]>") else {
                    throw self.fault("]]> must be written ]]&gt;")
                }
                text.append(byte)
                self.position += 1
            } else if self.isAt("</") {
                try self.endTag(of: name)
                endText()
                return XMLTree(name, attributes: attributes, contents)
            } else if self.isAt("<!--") {
                try self.skipComment()
            } else if self.isAt("<![CDATA[") {
                try self.section(into: &text)
            } else if self.isAt("<?") {
                try self.skipInstruction()
            } else {
                endText()
                contents.append(.element(try self.element(depth: depth + 1, namespaces: namespaces)))
            }
        }
        self.position = start
        throw self.fault("the element \(name.prefix(40)) is not closed")
    }

    private mutating func endTag(of name: String) throws(XMLSyntaxError) {
        let start = self.position
        self.position += 2
        // Name by name, byte by byte: to Swift, two ways to write an accent are equal.
        let isRight = Array(try self.name().utf8) == Array(name.utf8)
        self.skipSpace()
        guard isRight, self.current == UInt8(ascii: ">") else {
            self.position = start
            throw self.fault("</\(name.prefix(40))> is missing here")
        }
        self.position += 1
    }

    private mutating func section(into text: inout [UInt8]) throws(XMLSyntaxError) {
        let start = self.position + 9
        guard let end = self.bytes[start...].firstRange(of: Array("]]>".utf8)) else {
            throw self.fault("this CDATA section is not closed")
        }
        text += self.bytes[start..<end.lowerBound]
        self.position = end.upperBound
    }

    /// Reads the attributes and the end of a start tag.
    ///
    /// - Returns: The attributes, and whether the element is closed with it.
    private mutating func attributes() throws(XMLSyntaxError) -> ([XMLTree.Attribute], Bool) {
        var attributes: [XMLTree.Attribute] = []
        while true {
            let isApart = self.current.map(Self.isSpace) == true
            self.skipSpace()
            if self.isAt("/>") {
                self.position += 2
                return (attributes, true)
            }
            if self.current == UInt8(ascii: ">") {
                self.position += 1
                return (attributes, false)
            }
            guard isApart else { throw self.fault("> or a space is missing") }
            let name = try self.name()
            self.skipSpace()
            guard self.current == UInt8(ascii: "=") else { throw self.fault("= is missing") }
            self.position += 1
            self.skipSpace()
            attributes.append(XMLTree.Attribute(name, try self.value()))
        }
    }

    private mutating func value() throws(XMLSyntaxError) -> String {
        guard let quote = self.current, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
            throw self.fault("a value in quotes is missing")
        }
        let start = self.position
        self.position += 1
        var text: [UInt8] = []
        while let byte = self.current {
            switch byte {
            case quote:
                self.position += 1
                return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "<"): throw self.fault("< must be written &lt;")
            case UInt8(ascii: "&"): try self.reference(into: &text)
            default:
                // Line breaks and tabs stand for spaces (section 3.3.3).
                text.append(Self.isSpace(byte) ? 0x20 : byte)
                self.position += 1
            }
        }
        self.position = start
        throw self.fault("this quote is not closed")
    }

    /// Reads `&lt;` and its like, or the number of a character.
    private mutating func reference(into text: inout [UInt8]) throws(XMLSyntaxError) {
        // No entity's name is longer, and no number needs more digits than that.
        let rest = self.bytes[(self.position + 1)...].prefix(12)
        guard let end = rest.firstIndex(of: UInt8(ascii: ";")) else { throw self.fault("& must be written &amp;") }
        let name = String(decoding: rest[..<end], as: UTF8.self)
        switch name {
        case "amp": text.append(UInt8(ascii: "&"))
        case "lt": text.append(UInt8(ascii: "<"))
        case "gt": text.append(UInt8(ascii: ">"))
        case "quot": text.append(UInt8(ascii: "\""))
        case "apos": text.append(UInt8(ascii: "'"))
        default:
            let isHexadecimal = name.utf8.starts(with: "#x".utf8)
            let digits = name.dropFirst(isHexadecimal ? 2 : 1)
            guard name.utf8.first == UInt8(ascii: "#"), digits.utf8.allSatisfy({ PercentCoding.digit($0) != nil }),
                let scalar = UInt32(digits, radix: isHexadecimal ? 16 : 10).flatMap(Unicode.Scalar.init),
                !XMLText.isForbidden(scalar)
            else { throw self.fault("there is no character &\(name);") }
            text += String(Character(scalar)).utf8
        }
        self.position = end + 1
    }

    private mutating func name() throws(XMLSyntaxError) -> String {
        let word = self.bytes[self.position...].prefix { $0 >= 0x80 || XMLNames.continues(Unicode.Scalar($0)) }
        let name = String(decoding: word, as: UTF8.self)
        guard XMLNames.isName(name) else { throw self.fault("a name is missing here") }
        self.position += word.count
        return name
    }

    // MARK: Bytes

    private var current: UInt8? { self.position < self.bytes.count ? self.bytes[self.position] : nil }

    private func isAt(_ text: String) -> Bool { self.bytes[self.position...].starts(with: text.utf8) }

    private mutating func skipSpace() { while let byte = self.current, Self.isSpace(byte) { self.position += 1 } }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    private func fault(_ reason: String) -> XMLSyntaxError {
        let before = self.bytes.prefix(self.position)
        let line = before.count { $0 == UInt8(ascii: "\n") } + 1
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return XMLSyntaxError(line: line, column: self.position - lineStart + 1, reason: reason)
    }
}

/// Where a text stops being XML, and why.
///
/// Lines and columns (in bytes) count from 1.
package struct XMLSyntaxError: Error, Equatable {
    package let line: Int
    package let column: Int
    package let reason: String
}
