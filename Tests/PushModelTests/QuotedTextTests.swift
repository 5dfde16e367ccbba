import PushModel
import Testing

@Suite struct QuotedTextTests {
    @Test(arguments: ["", "ann", "o'neill", "''", "'", "a\"b", "e\u{301}'\u{301}", "日本"])
    func whatIsWrittenIsRead(_ text: String) throws {
        let bytes = Array("=\(QuotedText.of(text))+".utf8)
        var position = 1
        let read = try #require(QuotedText.read(bytes, at: &position))
        // Bytes, for to Swift two ways to write an accent are equal.
        #expect(Array(read.utf8) == Array(text.utf8))
        #expect(position == bytes.count - 1)
    }

    @Test func eitherQuoteIsDoubledWithinItself() {
        var position = 0
        #expect(QuotedText.read(Array("\"a\"\"b'c'' \"".utf8), at: &position) == "a\"b'c'' ")
        position = 0
        #expect(QuotedText.read(Array("'a''b\"c'd".utf8), at: &position) == "a'b\"c")
        #expect(position == 8)
    }

    @Test(arguments: ["'", "'a", "'a''", "\"a'"]) func whatDoesNotEndIsNoText(_ text: String) {
        var position = 0
        #expect(QuotedText.read(Array(text.utf8), at: &position) == nil)
        #expect(position == 0)
    }
}
