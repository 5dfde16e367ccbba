import Crypto
import Foundation
import PushModel
import Testing

@testable import PushServices

@Suite struct ES256SignerTests {
    @Test(arguments: [nil, "ABC\"1"])
    func aTokensSignatureIsValid(keyID: String?) throws {
        let key = P256.Signing.PrivateKey()
        let signer = try ES256Signer(pem: Array(key.pemRepresentation.utf8))
        let token = try signer.token(keyID: keyID, claims: .members(["aud": .string("https://a"), "exp": .integer(7)]))
        let parts = token.split(separator: ".")
        try #require(parts.count == 3)
        let header = try JSONDecoder().decode(
            [String: String].self,
            from: Data(try #require(Base64URL.decode(parts[0])))
        )
        #expect(header == (keyID.map { ["alg": "ES256", "kid": $0] } ?? ["alg": "ES256"]))
        #expect(Base64URL.decode(parts[1]) == Array(#"{"aud":"https://a","exp":7}"#.utf8))
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: try #require(Base64URL.decode(parts[2])))
        #expect(key.publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))
    }

    @Test func malformedKeysAreRefused() {
        #expect(throws: (any Error).self) { try ES256Signer(pem: Array("-----BEGIN PRIVATE KEY-----".utf8)) }
    }
}
