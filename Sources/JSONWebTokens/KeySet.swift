import Crypto
import CryptoExtras
import PushModel

/// Why an issuer's keys cannot be read, in words for the operator.
package struct KeySetFault: Error, Sendable, Equatable {
    package let reason: String
    /// Whether there is no key set any more, as opposed to one that cannot be read now: keys read before are removed ones.
    package let isGone: Bool

    package init(_ reason: String, isGone: Bool = false) {
        self.reason = reason
        self.isGone = isGone
    }
}

/// A public key of an issuer.
enum PublicKey: Sendable {
    case rs256(_RSA.Signing.PublicKey)
    case es256(P256.Signing.PublicKey)

    var algorithm: TokenSettings.Algorithm {
        switch self {
        case .rs256: .rs256
        case .es256: .es256
        }
    }

    /// Whether the key made the signature.
    func isValid(_ signature: [UInt8], of signed: [UInt8]) -> Bool {
        let digest = SHA256.hash(data: signed)
        switch self {
        case .rs256(let key):
            let signature = _RSA.Signing.RSASignature(rawRepresentation: signature)
            return key.isValidSignature(signature, for: digest, padding: .insecurePKCS1v1_5)
        case .es256(let key):
            // R and S, 32 bytes each (RFC 7518, section 3.4): DER is another length.
            guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
            return key.isValidSignature(signature, for: digest)
        }
    }
}

/// An issuer's public keys (RFC 7517), as far as tokens can be verified with them.
package struct KeySet: Sendable {
    private struct Entry {
        let id: String?
        let key: PublicKey
    }

    private let entries: [Entry]

    /// How many keys there are.
    package var count: Int { self.entries.count }

    /// A set without keys.
    init() { self.entries = [] }

    /// Reads a key set; keys of other kinds and for other uses are passed over, as the RFC demands.
    ///
    /// None may be left: an issuer removes its last key so that nothing more is signed with it.
    ///
    /// - Parameter json: The document.
    /// - Throws: ``KeySetFault`` when it is none.
    package init(json: [UInt8]) throws(KeySetFault) {
        guard case .object(let members)? = try? JSONReader.read(json),
            case .array(let keys)? = members.first(where: { $0.name == "keys" })?.value
        else { throw KeySetFault("is not a JSON Web Key Set: a JSON object with an array keys") }
        self.entries = keys.compactMap(Self.entry)
    }

    private static func entry(_ value: JSONValue) -> Entry? {
        guard case .object(let members) = value else { return nil }
        func member(_ name: String) -> JSONValue? { members.first { $0.name == name }?.value }
        func text(_ name: String) -> String? { if case .string(let text)? = member(name) { text } else { nil } }
        func bytes(_ name: String) -> [UInt8]? { text(name).flatMap { Base64URL.decode($0) } }
        if member("use") != nil, text("use") != "sig" { return nil }
        if let operations = member("key_ops") {
            guard case .array(let names) = operations, names.contains(.string("verify")) else { return nil }
        }
        let key: PublicKey
        switch text("kty") {
        case "RSA":
            guard let n = bytes("n"), let e = bytes("e"), n.count <= Self.longestModulus,
                let rsa = try? _RSA.Signing.PublicKey(n: n, e: e)
            else { return nil }
            key = .rs256(rsa)
        case "EC" where text("crv") == "P-256":
            guard let x = bytes("x"), let y = bytes("y"), x.count == 32, y.count == 32,
                let p256 = try? P256.Signing.PublicKey(x963Representation: [4] + x + y)
            else { return nil }
            key = .es256(p256)
        default: return nil
        }
        if member("alg") != nil, text("alg") != key.algorithm.rawValue { return nil }
        return Entry(id: text("kid"), key: key)
    }

    /// 8,192 bits: a longer one would make each check expensive.
    private static let longestModulus = 1024

    /// The one key that a token may be signed with, so that a token costs one check.
    ///
    /// - Parameters:
    ///   - id: The token's `kid`; a token without one needs a set with a single key for the algorithm.
    ///   - algorithm: The token's.
    /// - Returns: nil when there is none, or more than one for a token without `kid`.
    func key(id: String?, for algorithm: TokenSettings.Algorithm) -> PublicKey? {
        let fitting = self.entries.filter { $0.key.algorithm == algorithm }
        if let id { return fitting.first { $0.id == id }?.key }
        return fitting.count == 1 ? fitting[0].key : nil
    }
}
