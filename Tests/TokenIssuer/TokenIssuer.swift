package import Crypto
package import CryptoExtras
package import Foundation
package import PushModel

/// An issuer of tokens for tests: its keys, its key set, and whatever token a test wants.
package struct TokenIssuer: Sendable {
    package let rsa: _RSA.Signing.PrivateKey
    package let p256: P256.Signing.PrivateKey

    package static let issuer = "https://login.example.com/"
    package static let audience = "push"

    /// Made once a process: an RSA key takes its time.
    package static let shared = Result { try TokenIssuer() }

    package init() throws {
        self.rsa = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        self.p256 = P256.Signing.PrivateKey()
    }

    /// The settings of an app that takes the issuer's tokens.
    package static func settings(_ keySet: TokenSettings.KeySetPlace = .file(path: "/nowhere")) -> TokenSettings {
        TokenSettings {
            $0.issuer = Self.issuer
            $0.audience = Self.audience
            $0.keySet = keySet
        }
    }

    /// The RSA key as a member of a key set.
    package func rsaKey(id: String? = "rsa", _ others: KeyValuePairs<String, JSONValue?> = [:]) throws -> JSONValue {
        let (n, e) = try self.rsa.publicKey.primitives
        return Self.key(["kty": "RSA", "kid": id, "n": n, "e": e], others)
    }

    /// The key on P-256 as a member of a key set.
    package func p256Key(id: String? = "ec", _ others: KeyValuePairs<String, JSONValue?> = [:]) -> JSONValue {
        let point = self.p256.publicKey.rawRepresentation
        return Self.key(
            [
                "kty": "EC", "crv": "P-256", "kid": id, "x": Base64URL.encode(point.prefix(32)),
                "y": Base64URL.encode(point.suffix(32)),
            ],
            others
        )
    }

    private static func key(
        _ texts: KeyValuePairs<String, String?>,
        _ others: KeyValuePairs<String, JSONValue?>
    ) -> JSONValue {
        let members = texts.compactMap { name, text in text.map { JSONValue.Member(name, .string($0)) } }
        return .object(members + others.compactMap { name, value in value.map { JSONValue.Member(name, $0) } })
    }

    /// A key set of these keys; nil = both.
    package func keySet(_ keys: [JSONValue]? = nil) throws -> [UInt8] {
        JSONValue.members(["keys": .array(try keys ?? [self.rsaKey(), self.p256Key()])]).bytes
    }

    /// The claims of a good token for five minutes, with some replaced or, as nil, left out.
    package static func claims(_ changes: KeyValuePairs<String, JSONValue?> = [:]) -> JSONValue {
        let now = Int(Timestamp.now.seconds)
        var claims: [(String, JSONValue?)] = [
            ("iss", .string(Self.issuer)), ("aud", .string(Self.audience)), ("sub", .string("carol")),
            ("iat", .integer(now)), ("exp", .integer(now + 300)),
        ]
        for (name, value) in changes {
            claims.removeAll { $0.0 == name }
            claims.append((name, value))
        }
        return .object(claims.compactMap { name, value in value.map { JSONValue.Member(name, $0) } })
    }

    /// The header of a token.
    package static func header(_ algorithm: String, id: String?) -> JSONValue {
        .members(["alg": .string(algorithm), "typ": .string("JWT"), "kid": id.map(JSONValue.string)])
    }

    /// A token with RS256.
    package func rs256(_ claims: JSONValue = Self.claims(), header: JSONValue = Self.header("RS256", id: "rsa"))
        throws -> String
    {
        try Self.token(header, claims) { signed in
            try self.rsa.signature(for: SHA256.hash(data: signed), padding: .insecurePKCS1v1_5).rawRepresentation
        }
    }

    /// A token with ES256.
    package func es256(_ claims: JSONValue = Self.claims(), header: JSONValue = Self.header("ES256", id: "ec"))
        throws -> String
    {
        try Self.token(header, claims) { try self.p256.signature(for: $0).rawRepresentation }
    }

    /// A token that is signed in any way.
    package static func token(_ header: JSONValue, _ claims: JSONValue, sign: (Data) throws -> Data) rethrows -> String
    {
        let signed = "\(Base64URL.encode(header.bytes)).\(Base64URL.encode(claims.bytes))"
        return "\(signed).\(Base64URL.encode(try sign(Data(signed.utf8))))"
    }
}

extension _RSA.Signing.PublicKey {
    /// Modulus and exponent in base64url.
    fileprivate var primitives: (n: String, e: String) {
        get throws {
            let primitives = try self.getKeyPrimitives()
            return (Base64URL.encode(primitives.modulus), Base64URL.encode(primitives.publicExponent))
        }
    }
}
