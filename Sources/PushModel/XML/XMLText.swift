/// Text as it stands in XML 1.0.
package enum XMLText {
    /// Escapes text between tags or in a double-quoted attribute.
    ///
    /// Both places get the same escapes. A parser turns a carriage return into a line feed, and a line break or tab in
    /// an attribute into a space, unless they are references. Characters forbidden in XML 1.0 become U+FFFD.
    package static func escape(_ text: String) -> String {
        var output = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": output.append(contentsOf: "&amp;".unicodeScalars)
            case "<": output.append(contentsOf: "&lt;".unicodeScalars)
            case ">": output.append(contentsOf: "&gt;".unicodeScalars)
            case "\"": output.append(contentsOf: "&quot;".unicodeScalars)
            case "\t": output.append(contentsOf: "&#9;".unicodeScalars)
            case "\n": output.append(contentsOf: "&#10;".unicodeScalars)
            case "\r": output.append(contentsOf: "&#13;".unicodeScalars)
            case _ where Self.isForbidden(scalar): output.append("\u{FFFD}")
            default: output.append(scalar)
            }
        }
        return String(output)
    }

    /// A CDATA section with the text; an end mark within the text is divided between two sections.
    ///
    /// A section has no references: a text with what XML forbids, or a parser would change, is escaped instead.
    package static func section(_ text: String) -> String {
        guard !text.unicodeScalars.contains(where: { $0 == "\r" || Self.isForbidden($0) }) else {
            return Self.escape(text)
        }
        var bytes = Array("<![CDATA[".utf8)
        // By bytes: to Swift, an accent after the mark makes another character of its end.
        for byte in text.utf8 {
            if byte == UInt8(ascii: ">"), bytes.suffix(2).elementsEqual("]]".utf8) { bytes += "]]><![CDATA[".utf8 }
            bytes.append(byte)
        }
        return String(decoding: bytes + "]]>".utf8, as: UTF8.self)
    }

    /// Whether XML 1.0 (section 2.2, `Char`) has no place for that character, not even as a reference.
    static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x9, 0xA, 0xD: false
        case 0..<0x20, 0xFFFE, 0xFFFF: true
        default: false
        }
    }
}
