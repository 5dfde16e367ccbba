import Crypto
import CryptoExtras
import PushModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Signs JSON Web Tokens (RFC 7515) with the algorithm that the receiver of a key asks for.
enum TokenSigner: Sendable {
    /// ECDSA on P-256 with SHA-256 (RFC 7518, section 3.4).
    case es256(P256.Signing.PrivateKey)
    /// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518, section 3.3).
    case rs256(_RSA.Signing.PrivateKey)

    /// A signer with ES256.
    ///
    /// - Parameter pem: The private key, as PKCS#8 or SEC 1.
    /// - Returns: The signer.
    /// - Throws: The fault of the key.
    static func es256(pem: String) throws -> TokenSigner {
        .es256(try P256.Signing.PrivateKey(pemRepresentation: pem))
    }

    /// A signer with RS256.
    ///
    /// - Parameter pem: The private key of at least 2048 bits, as PKCS#8 or PKCS#1.
    /// - Returns: The signer.
    /// - Throws: The fault of the key.
    static func rs256(pem: String) throws -> TokenSigner {
        .rs256(try _RSA.Signing.PrivateKey(pemRepresentation: pem))
    }

    /// A token in its compact form.
    ///
    /// - Parameters:
    ///   - keyID: The receiver's id of the key; nil for a receiver with only one key.
    ///   - claims: An object.
    ///   - type: The type that the header names; nil = as the algorithm's usual receiver has it.
    /// - Returns: Header, claims and signature.
    /// - Throws: The signer's error; a key that was read does not cause one.
    func token(keyID: String?, claims: JSONValue, type: String? = nil) throws -> String {
        let header = JSONValue.members([
            "alg": .string(self.algorithm), "typ": (type ?? self.type).map(JSONValue.string),
            "kid": keyID.map(JSONValue.string),
        ])
        let signed = "\(Base64URL.encode(header.bytes)).\(Base64URL.encode(claims.bytes))"
        return "\(signed).\(Base64URL.encode(try self.signature(of: Data(signed.utf8))))"
    }

    private var algorithm: String {
        switch self {
        case .es256: "ES256"
        case .rs256: "RS256"
        }
    }

    /// Google's example of a header names the type, Apple's has none.
    private var type: String? {
        switch self {
        case .es256: nil
        case .rs256: "JWT"
        }
    }

    private func signature(of data: Data) throws -> Data {
        switch self {
        // The raw R and S.
        case .es256(let key): try key.signature(for: data).rawRepresentation
        case .rs256(let key):
            try key.signature(for: SHA256.hash(data: data), padding: .insecurePKCS1v1_5).rawRepresentation
        }
    }
}
