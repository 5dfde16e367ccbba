import Crypto
import CryptoExtras
import Foundation
import PushModel

/// A parsed JSON Web Token; its signature is not yet checked.
struct SignedToken {
    var header: [String: Any]
    var claims: [String: Any]
    private var signed: [UInt8]
    private var signature: [UInt8]

    /// Reads the compact form (RFC 7515); nil if it is none.
    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3,
            let header = Self.object(parts[0]),
            let claims = Self.object(parts[1]),
            let signature = Base64URL.decode(parts[2])
        else { return nil }
        self.header = header
        self.claims = claims
        self.signature = signature
        self.signed = Array((parts[0] + "." + parts[1]).utf8)
    }

    /// Whether this key made the signature, as raw R and S (RFC 7518, 3.4).
    func isSigned(by key: P256.Signing.PublicKey) -> Bool {
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: self.signature) else { return false }
        return key.isValidSignature(signature, for: self.signed)
    }

    /// Whether this key made the signature, as RS256.
    func isSigned(by key: _RSA.Signing.PublicKey) -> Bool {
        key.isValidSignature(
            _RSA.Signing.RSASignature(rawRepresentation: self.signature),
            for: SHA256.hash(data: self.signed),
            padding: .insecurePKCS1v1_5
        )
    }

    /// A claim that is an integral number, nil otherwise.
    func seconds(_ claim: String) -> Double? {
        guard let value = self.claims[claim] as? Double, value == value.rounded() else { return nil }
        return value
    }

    private static func object(_ part: some StringProtocol) -> [String: Any]? {
        guard let bytes = Base64URL.decode(part) else { return nil }
        return (try? JSONSerialization.jsonObject(with: Data(bytes))) as? [String: Any]
    }
}
