import Crypto
import PushModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Signs JSON Web Tokens with ES256: ECDSA on P-256 with SHA-256 (RFC 7515; RFC 7518, section 3.4).
struct ES256Signer: Sendable {
    private let key: P256.Signing.PrivateKey

    /// - Parameter pem: The private key, as PKCS#8 or SEC 1.
    /// - Throws: The fault of the key.
    init(pem: [UInt8]) throws {
        self.key = try P256.Signing.PrivateKey(pemRepresentation: String(decoding: pem, as: UTF8.self))
    }

    /// A token in its compact form.
    ///
    /// - Parameters:
    ///   - keyID: The receiver's id of the key; nil for a receiver with only one key.
    ///   - claims: An object.
    /// - Returns: Header, claims and signature.
    /// - Throws: The signer's error; a key that was read does not cause one.
    func token(keyID: String?, claims: JSONValue) throws -> String {
        let header = JSONValue.members(["alg": .string("ES256"), "kid": keyID.map(JSONValue.string)])
        let signed = "\(Base64URL.encode(header.bytes)).\(Base64URL.encode(claims.bytes))"
        // The signature is the raw R and S.
        let signature = try self.key.signature(for: Data(signed.utf8)).rawRepresentation
        return "\(signed).\(Base64URL.encode(signature))"
    }
}
