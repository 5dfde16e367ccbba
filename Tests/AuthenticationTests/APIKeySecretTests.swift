import Authentication
import Testing

@Suite struct APIKeySecretTests {
    @Test func aSecretHas256RandomBits() {
        let secret = APIKeySecret.make()
        #expect(secret.text.hasPrefix("plk_"))
        #expect(secret.text.utf8.count == 4 + 43)
        #expect(secret.hash.count == 32)
        #expect(APIKeySecret(secret.text)?.hash == secret.hash)
        #expect(APIKeySecret.make().text != secret.text)
    }

    @Test(arguments: ["", "secret", "PLK_x", "plk_" + String(repeating: "x", count: 125)])
    func malformedSecretsAreRefused(text: String) { #expect(APIKeySecret(text) == nil) }
}
