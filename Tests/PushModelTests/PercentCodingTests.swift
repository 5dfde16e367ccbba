import PushModel
import Testing

@Suite struct PercentCodingTests {
    @Test func allButUnreservedCharactersAreEscaped() {
        #expect(PercentCoding.encode("a+b/=%& ä") == "a%2Bb%2F%3D%25%26%20%C3%A4")
        #expect(PercentCoding.encode("AZaz09-._~") == "AZaz09-._~")
    }

    @Test func escapedTextIsReadBack() {
        let text = "a+b/=%& ä\u{0}\u{7F}👩‍👧"
        #expect(PercentCoding.decode(PercentCoding.encode(text)[...], plusIsSpace: true) == text)
    }

    @Test func plusIsASpaceOnRequest() {
        #expect(PercentCoding.decode("a+b%2b", plusIsSpace: true) == "a b+")
        #expect(PercentCoding.decode("a+b%2B", plusIsSpace: false) == "a+b+")
    }

    @Test(arguments: ["%", "%2", "%2g", "%%41", "%FF", "a%C3", "%u0041"])
    func malformedEscapesAreNil(text: String) { #expect(PercentCoding.decode(text[...], plusIsSpace: true) == nil) }
}
