import Crypto
import CryptoExtras
import Foundation
import PushModel
import Testing

@testable import PushServices

@Suite struct TokenSignerTests {
    @Test(arguments: [nil, "ABC\"1"])
    func aTokenWithES256HasAValidSignature(keyID: String?) throws {
        let key = P256.Signing.PrivateKey()
        let (signed, signature) = try Self.check(.es256(pem: key.pemRepresentation), "ES256", keyID: keyID)
        let raw = try P256.Signing.ECDSASignature(rawRepresentation: signature)
        #expect(key.publicKey.isValidSignature(raw, for: signed))
    }

    @Test(arguments: [nil, "0123abcd"])
    func aTokenWithRS256HasAValidSignature(keyID: String?) throws {
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let (signed, signature) = try Self.check(.rs256(pem: key.pemRepresentation), "RS256", keyID: keyID)
        let raw = _RSA.Signing.RSASignature(rawRepresentation: signature)
        #expect(key.publicKey.isValidSignature(raw, for: SHA256.hash(data: signed), padding: .insecurePKCS1v1_5))
    }

    @Test func malformedKeysAndThoseOfTheOtherAlgorithmAreRefused() throws {
        let p256 = P256.Signing.PrivateKey().pemRepresentation
        let rsa = try _RSA.Signing.PrivateKey(keySize: .bits2048).pemRepresentation
        for pem in ["-----BEGIN PRIVATE KEY-----", "", rsa] {
            #expect(throws: (any Error).self) { try TokenSigner.es256(pem: pem) }
        }
        for pem in ["-----BEGIN PRIVATE KEY-----", "", p256] {
            #expect(throws: (any Error).self) { try TokenSigner.rs256(pem: pem) }
        }
    }

    /// Signs, and checks all but the signature.
    private static func check(
        _ signer: TokenSigner,
        _ algorithm: String,
        keyID: String?
    ) throws -> (signed: Data, signature: [UInt8]) {
        let token = try signer.token(keyID: keyID, claims: .members(["aud": .string("https://a"), "exp": .integer(7)]))
        let parts = token.split(separator: ".")
        try #require(parts.count == 3)
        let header = try JSONDecoder().decode(
            [String: String].self,
            from: Data(try #require(Base64URL.decode(parts[0])))
        )
        var expected = ["alg": algorithm]
        expected["typ"] = algorithm == "RS256" ? "JWT" : nil
        expected["kid"] = keyID
        #expect(header == expected)
        #expect(Base64URL.decode(parts[1]) == Array(#"{"aud":"https://a","exp":7}"#.utf8))
        return (Data("\(parts[0]).\(parts[1])".utf8), try #require(Base64URL.decode(parts[2])))
    }
}
