/// Texts in quotes, as tag expressions, filters and templates have them: a quote within is doubled.
package enum QuotedText {
    private static let quote = UInt8(ascii: "'")

    /// A text in single quotes.
    package static func of(_ text: String) -> String {
        // By bytes: a quote with an accent behind it is another character to Swift.
        let doubled = text.utf8.flatMap { $0 == Self.quote ? [$0, $0] : [$0] }
        return "'\(String(decoding: doubled, as: UTF8.self))'"
    }

    /// Reads a text in quotes.
    ///
    /// - Parameters:
    ///   - bytes: What has it.
    ///   - position: Its first quote, single or double; afterwards what follows its last one. It stays where the text does not end.
    /// - Returns: The text without its quotes; nil if it does not end.
    package static func read(_ bytes: [UInt8], at position: inout Int) -> String? {
        let quote = bytes[position]
        var text: [UInt8] = []
        var next = position + 1
        while next < bytes.count {
            let byte = bytes[next]
            next += 1
            if byte == quote {
                guard next < bytes.count, bytes[next] == quote else {
                    position = next
                    return String(decoding: text, as: UTF8.self)
                }
                next += 1
            }
            text.append(byte)
        }
        return nil
    }
}
