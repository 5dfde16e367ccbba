import PushModel
import Testing

@Suite struct JSONReaderTests {
    @Test(arguments: [
        ("null", JSONValue.null), (" true ", .bool(true)), ("-0.5e+7", .number("-0.5e+7")),
        ("\"\\u00e9\"", .string("é")),
        ("[]", .array([])), ("[1,[2]]", .array([.number("1"), .array([.number("2")])])),
        ("{\"a\":{}}", .object([.init("a", .object([]))])),
        ("{\"a\":1,\"a\":2}", .object([.init("a", .number("1")), .init("a", .number("2"))])),
        ("\u{FEFF}1", .number("1")), ("\"\\udc00x\"", .string("\u{FFFD}x")),
        ("\"\\ud800\\u0041\"", .string("\u{FFFD}A")),
        ("\"\\u0000\"", .string("\u{0}")),
    ])
    func validJSONIsRead(text: String, value: JSONValue) throws {
        #expect(try JSONReader.read(Array(text.utf8)) == value)
    }

    @Test(arguments: [
        "", " ", "nul", "tru", "+1", "01", "1.", ".5", "1e", "-", "'a'", "\"a", "\"\n\"", "\"\\x\"", "\"\\u12\"",
        "\"\\u12g4\"",
        "[", "[1", "[1,", "[1,]", "{", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,}", "{a:1}", "{1:2}", "1 2", "NaN",
        "Infinity",
        "\u{0}", "// x\n1",
    ])
    func invalidJSONIsRefused(text: String) {
        #expect(throws: JSONSyntaxError.self) { try JSONReader.read(Array(text.utf8)) }
    }

    @Test func aSyntaxErrorHasALineAndColumn() {
        let error = #expect(throws: JSONSyntaxError.self) {
            try JSONReader.read(Array("{\n  \"a\": 1,\n  b: 2\n}".utf8))
        }
        #expect(error?.line == 3)
        #expect(error?.column == 3)
    }

    @Test func depthIsBounded() throws {
        let deep = { (levels: Int) in
            [UInt8](repeating: UInt8(ascii: "["), count: levels) + [UInt8](repeating: UInt8(ascii: "]"), count: levels)
        }
        #expect(throws: Never.self) { try JSONReader.read(deep(JSONReader.maximumDepth)) }
        #expect(throws: JSONSyntaxError.self) { try JSONReader.read(deep(JSONReader.maximumDepth + 2)) }
        #expect(throws: JSONSyntaxError.self) {
            try JSONReader.read([UInt8](repeating: UInt8(ascii: "["), count: 1 << 20))
        }
    }

    @Test func invalidUTF8IsRefused() {
        for bytes: [UInt8] in [[0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0xFF]] {
            #expect(throws: JSONSyntaxError.self) { try JSONReader.read(bytes) }
        }
    }

    @Test(arguments: ["a\"b\\c", "\u{1}\u{7F}\n\u{2028}", "😀é", ""])
    func writtenJSONIsReadBack(text: String) throws {
        let value = JSONValue.object([
            .init(text, .array([.string(text), .null, .bool(false), .integer(-3)]))
        ])
        #expect(try JSONReader.read(value.bytes) == value)
    }

    @Test func randomBytesNeverCrash() {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array("{}[]\":,\\u0dD8e+-.tfn \n".utf8) + [0, 0x80, 0xC3, 0xFF]
        for _ in 0..<5000 {
            let bytes = (0..<Int.random(in: 0...40)).map { _ in alphabet.randomElement(using: &generator) ?? 0 }
            _ = try? JSONReader.read(bytes)
        }
    }
}
