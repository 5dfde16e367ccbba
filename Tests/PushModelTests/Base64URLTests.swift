import PushModel
import Testing

@Suite struct Base64URLTests {
    @Test(
        arguments: [
            ([], ""), ([0xFB], "-w"), ([0xFF, 0xFF], "__8"), ([1, 2, 3], "AQID"), (Array("f".utf8), "Zg"),
        ] as [([UInt8], String)]
    )
    func encodingAndDecodingAreInverse(bytes: [UInt8], text: String) {
        #expect(Base64URL.encode(bytes) == text)
        #expect(Base64URL.decode(text) == bytes)
    }

    @Test(arguments: ["+w", "/w", "Zg==", "Z", "Z g", "ä"])
    func malformedTextIsNil(text: String) { #expect(Base64URL.decode(text) == nil) }
}
