import PushModel
import Testing

@Suite struct JobLabelTests {
    @Test(arguments: ["a", "Spring sale", "été – 50 %", "🎉", String(repeating: "é", count: 100)])
    func aPrintableTextIsALabel(text: String) throws {
        #expect(try JobLabel(text).text == text)
    }

    @Test(
        arguments: [
            "", " a", "a ", "a\u{A0}", "a\nb", "a\u{0}b", "\u{1B}[2J", "a\u{202E}b", "a\u{2028}b", "\u{200B}",
            "\u{FEFF}a",
            String(repeating: "a", count: 101),
        ]
    )
    func otherTextsAreRefused(text: String) {
        #expect(throws: InvalidValue.self) { try JobLabel(text) }
    }
}
