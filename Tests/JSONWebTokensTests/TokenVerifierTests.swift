import Crypto
import CryptoExtras
import Foundation
import Logging
import PushModel
import Testing
import TokenIssuer

@testable import JSONWebTokens

@Suite struct TokenVerifierTests {
    private let issuer: TokenIssuer

    init() throws { self.issuer = try TokenIssuer.shared.get() }

    /// A verifier with the issuer's keys, or others.
    private func verifier(
        keys: [JSONValue]? = nil,
        _ adjust: (inout TokenSettings) -> Void = { _ in }
    ) throws -> TokenVerifier {
        var settings = TokenIssuer.settings()
        adjust(&settings)
        let document = try self.issuer.keySet(keys)
        let cache = KeyCache(timing: KeyCache.Timing(settings.keySet), waiting: WaitLimit(100), logger: .quiet) {
            () throws(KeySetFault) in document
        }
        return TokenVerifier(settings: settings, keys: cache)
    }

    /// The reason for which a token is refused.
    private func refusal(
        of token: String,
        by verifier: TokenVerifier? = nil,
        at now: Timestamp = .now
    ) async throws -> String? {
        do {
            _ = try await (verifier ?? self.verifier()).verify(token, now: now)
            return nil
        } catch TokenRefusal.invalid(let reason) {
            return reason
        }
    }

    /// Whom a good token names.
    private func user(of token: String, by verifier: TokenVerifier) async throws -> String? {
        try await verifier.verify(token).user
    }

    @Test func tokensOfBothAlgorithmsAreVerified() async throws {
        let verifier = try self.verifier()
        let end = Timestamp(milliseconds: (Timestamp.now.seconds + 300) * 1000)
        for token in [try self.issuer.rs256(), try self.issuer.es256()] {
            let verified = try await verifier.verify(token)
            #expect(verified.user == "carol")
            #expect(verified.end >= end && verified.end <= end.advanced(by: .seconds(62)))
        }
        // Many issuers have several audiences, and fractions of seconds.
        let claims = TokenIssuer.claims([
            "aud": .strings(["other", TokenIssuer.audience]),
            "exp": .number("\(Timestamp.now.seconds + 5).25"), "nbf": .integer(Int(Timestamp.now.seconds)),
        ])
        #expect(try await self.user(of: self.issuer.es256(claims), by: verifier) == "carol")
        let access = JSONValue.members(["typ": .string("at+JWT"), "alg": .string("ES256"), "kid": .string("ec")])
        #expect(try await self.user(of: self.issuer.es256(header: access), by: verifier) == "carol")
    }

    @Test func theUserComesFromTheNamedClaim() async throws {
        let verifier = try self.verifier { $0.userClaim = "https://example.com/user" }
        let named = TokenIssuer.claims(["https://example.com/user": .string("dave")])
        #expect(try await self.user(of: self.issuer.rs256(named), by: verifier) == "dave")
        for other in [nil, JSONValue.null, .integer(7), .strings(["dave"])] {
            let claims = TokenIssuer.claims(["https://example.com/user": other])
            #expect(try await self.user(of: self.issuer.rs256(claims), by: verifier) == nil)
        }
    }

    @Test func aTokenWithoutSignatureIsRefused() async throws {
        for algorithm in ["none", "None", "NONE", ""] {
            let token = TokenIssuer.token(TokenIssuer.header(algorithm, id: "rsa"), TokenIssuer.claims()) { _ in Data()
            }
            #expect(try await self.refusal(of: token) == Self.algorithm)
        }
        // The signature cut off, and one of another token.
        let good = try self.issuer.rs256()
        let cut = String(good.prefix { $0 != "." }) + "." + good.split(separator: ".")[1] + "."
        #expect(try await self.refusal(of: cut) == Self.signature)
        let other = try self.issuer.rs256(TokenIssuer.claims(["sub": .string("root")]))
        let mixed =
            good.split(separator: ".")[0] + "." + other.split(separator: ".")[1] + "." + good.split(separator: ".")[2]
        #expect(try await self.refusal(of: String(mixed)) == Self.signature)
    }

    private static let algorithm = "the token is signed by an algorithm that the app does not take"
    private static let signature = "the token's signature is wrong"
    private static let unknownKey = "the token's `kid` is not in the issuer's key set"

    /// The old attack on verifiers that take the key's bytes for whatever the token says.
    @Test func aPublicKeyIsNoSecret() async throws {
        let secrets = [
            Data(self.issuer.rsa.publicKey.pemRepresentation.utf8), self.issuer.rsa.publicKey.derRepresentation,
            Data(self.issuer.p256.publicKey.pemRepresentation.utf8), Data(try self.issuer.keySet()),
        ]
        for secret in secrets {
            for id in ["rsa", "ec"] {
                let token = TokenIssuer.token(TokenIssuer.header("HS256", id: id), TokenIssuer.claims()) { signed in
                    Data(HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: secret)))
                }
                #expect(try await self.refusal(of: token) == Self.algorithm)
            }
        }
        // A secret among the issuer's keys verifies nothing either.
        let shared = JSONValue.members(["kty": .string("oct"), "kid": .string("s"), "k": .string("c2VjcmV0")])
        let verifier = try self.verifier(keys: [shared, self.issuer.p256Key()])
        let token = TokenIssuer.token(TokenIssuer.header("HS256", id: "s"), TokenIssuer.claims()) { signed in
            Data(HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: Data("secret".utf8))))
        }
        #expect(try await self.refusal(of: token, by: verifier) == Self.algorithm)
    }

    @Test func theAppDecidesWhichAlgorithmsAreTaken() async throws {
        let verifier = try self.verifier { $0.algorithms = [.es256] }
        #expect(try await self.refusal(of: self.issuer.es256(), by: verifier) == nil)
        #expect(try await self.refusal(of: self.issuer.rs256(), by: verifier) == Self.algorithm)
        for algorithm in ["RS384", "PS256", "ES384", "EdDSA", "rs256"] {
            let token = try self.issuer.rs256(header: TokenIssuer.header(algorithm, id: "rsa"))
            #expect(try await self.refusal(of: token) == Self.algorithm)
        }
    }

    @Test func anAlgorithmNeedsAKeyOfItsKind() async throws {
        // Signed with one key, and named as the other's.
        let asRSA = try self.issuer.es256(header: TokenIssuer.header("RS256", id: "ec"))
        #expect(try await self.refusal(of: asRSA) == Self.unknownKey)
        let asEC = try self.issuer.rs256(header: TokenIssuer.header("ES256", id: "rsa"))
        #expect(try await self.refusal(of: asEC) == Self.unknownKey)
        let wrongSignature = try self.issuer.rs256(header: TokenIssuer.header("ES256", id: "ec"))
        #expect(try await self.refusal(of: wrongSignature) == Self.signature)
        // Another issuer's key under the same id.
        let stranger = try TokenIssuer()
        #expect(try await self.refusal(of: stranger.rs256()) == Self.signature)
        #expect(try await self.refusal(of: stranger.es256()) == Self.signature)
        // A curve beside P-256.
        let p384 = P384.Signing.PrivateKey()
        let point = p384.publicKey.rawRepresentation
        let key = JSONValue.members([
            "kty": .string("EC"), "crv": .string("P-384"), "kid": .string("big"),
            "x": .string(Base64URL.encode(point.prefix(48))), "y": .string(Base64URL.encode(point.suffix(48))),
        ])
        let token = try TokenIssuer.token(TokenIssuer.header("ES256", id: "big"), TokenIssuer.claims()) {
            try p384.signature(for: $0).rawRepresentation
        }
        let verifier = try self.verifier(keys: [key, self.issuer.p256Key()])
        #expect(try await self.refusal(of: token, by: verifier) == Self.unknownKey)
    }

    @Test func aSignatureInDERIsRefused() async throws {
        let token = try TokenIssuer.token(TokenIssuer.header("ES256", id: "ec"), TokenIssuer.claims()) {
            try self.issuer.p256.signature(for: $0).derRepresentation
        }
        #expect(try await self.refusal(of: token) == Self.signature)
        for length in [0, 32, 63, 65, 256] {
            let token = TokenIssuer.token(TokenIssuer.header("ES256", id: "ec"), TokenIssuer.claims()) { _ in
                Data(repeating: 0, count: length)
            }
            #expect(try await self.refusal(of: token) == Self.signature)
        }
    }

    @Test func aLongSignatureIsRefusedUnread() async throws {
        let reason = "the token's signature is too long"
        #expect(try await self.refusal(of: "a.b.\(String(repeating: "A", count: 1367))") == reason)
        for length in [1024, 1025] {
            let token = TokenIssuer.token(TokenIssuer.header("RS256", id: "rsa"), TokenIssuer.claims()) { _ in
                Data(repeating: 0, count: length)
            }
            #expect(try await self.refusal(of: token) == (length == 1024 ? Self.signature : reason))
        }
    }

    @Test func keysInTheTokenAreNotTrusted() async throws {
        let stranger = try TokenIssuer()
        let header = JSONValue.members([
            "alg": .string("RS256"), "kid": .string("mine"), "jwk": try stranger.rsaKey(id: "mine"),
            "jku": .string("https://evil.example.com/jwks"),
        ])
        #expect(try await self.refusal(of: stranger.rs256(header: header)) == Self.unknownKey)
        let unnamed = JSONValue.members(["alg": .string("RS256"), "jwk": try stranger.rsaKey()])
        #expect(try await self.refusal(of: stranger.rs256(header: unnamed)) == Self.signature)
    }

    @Test func aTokenWithoutKeyIDNeedsASingleKey() async throws {
        let token = try self.issuer.es256(header: TokenIssuer.header("ES256", id: nil))
        #expect(try await self.refusal(of: token) == nil)
        let two = try self.verifier(keys: [self.issuer.p256Key(id: "a"), TokenIssuer().p256Key(id: "b")])
        #expect(try await self.refusal(of: token, by: two) == Self.unknownKey)
    }

    @Test(
        arguments: [
            (["iss": .string("https://login.example.com")], "the token is of another issuer"),
            (["iss": nil], "the token is of another issuer"),
            (["iss": .strings([TokenIssuer.issuer])], "the token is of another issuer"),
            (["aud": .string("other")], "the token is for another audience"),
            (["aud": .strings(["other", "push "])], "the token is for another audience"),
            (["aud": .array([.array([.string("push")])])], "the token is for another audience"),
            (["aud": nil], "the token is for another audience"),
            (["exp": nil], "the token has no exp"),
            (["exp": .string("99999999999")], "the token's exp is not a time in seconds"),
            (["exp": .number("1e400")], "the token's exp is not a time in seconds"),
            (["exp": .number("-5")], "the token's exp is not a time in seconds"),
            (["exp": .integer(1_900_000_000_000)], "the token's exp is not a time in seconds"),
            (["nbf": .bool(true)], "the token's nbf is not a time in seconds"),
        ] as [(KeyValuePairs<String, JSONValue?>, String)]
    )
    func wrongClaimsAreRefused(changes: KeyValuePairs<String, JSONValue?>, reason: String) async throws {
        #expect(try await self.refusal(of: self.issuer.es256(TokenIssuer.claims(changes))) == reason)
    }

    @Test func timesHaveAMinuteOfLeeway() async throws {
        let now = Timestamp.now
        func token(_ claim: String, in seconds: Int) throws -> String {
            try self.issuer.es256(TokenIssuer.claims([claim: .integer(Int(now.seconds) + seconds)]))
        }
        #expect(try await self.refusal(of: token("exp", in: -58), at: now) == nil)
        #expect(try await self.refusal(of: token("exp", in: -61), at: now) == "the token has expired")
        for claim in ["nbf", "iat"] {
            #expect(try await self.refusal(of: token(claim, in: 58), at: now) == nil)
            #expect(
                try await self.refusal(of: token(claim, in: 62), at: now) == "the token's \(claim) is in the future"
            )
        }
    }

    @Test func ambiguousTokensAreRefused() async throws {
        let twoIDs = JSONValue.object([
            .init("alg", .string("ES256")), .init("kid", .string("other")), .init("kid", .string("ec")),
        ])
        #expect(
            try await self.refusal(of: self.issuer.es256(header: twoIDs)) == "the token's header has a member twice"
        )
        guard case .object(let members) = TokenIssuer.claims() else { return }
        let twoUsers = JSONValue.object(members + [.init("sub", .string("root"))])
        #expect(try await self.refusal(of: self.issuer.es256(twoUsers)) == "the token's payload has a member twice")
    }

    @Test func headersThatAskForMoreAreRefused() async throws {
        func refusal(_ others: KeyValuePairs<String, JSONValue?>) async throws -> String? {
            let members = others.compactMap { name, value in value.map { JSONValue.Member(name, $0) } }
            let header = JSONValue.object([.init("alg", .string("ES256"))] + members)
            return try await self.refusal(of: self.issuer.es256(header: header))
        }
        #expect(try await refusal([:]) == nil)
        #expect(try await refusal(["crit": .strings(["b64"]), "b64": .bool(false)])?.contains("crit") == true)
        #expect(try await refusal(["typ": .string("logout+jwt")])?.contains("typ") == true)
        #expect(try await refusal(["kid": .integer(1)])?.contains("kid") == true)
        #expect(try await self.refusal(of: self.issuer.es256(header: .members([:])))?.contains("alg") == true)
    }

    @Test(arguments: [
        "", ".", "..", "...", "a.b.c", "e30.e30.e30", "e30.e30.", "e30.e30", "e30.e30.AA.AA", "bnVsbA.e30.AA",
        "W10.e30.AA",
        "eyJhbGciOiJFUzI1NiJ9.e30.A=A", "eyJhbGciOiJFUzI1NiJ9.e30.+/", "\u{0}.\u{0}.\u{0}",
        String(repeating: "a.", count: 4000), String(repeating: "a", count: 100_000),
    ])
    func whatIsNoTokenIsRefused(text: String) async throws {
        #expect(try await self.refusal(of: text)?.hasPrefix("the token") == true)
    }

    @Test func randomChangesNeverLetAnybodyIn() async throws {
        var generator = SystemRandomNumberGenerator()
        let verifier = try self.verifier()
        let good = Array(try self.issuer.es256().utf8)
        for _ in 0..<2000 {
            var bytes = good
            let place = Int.random(in: 0..<bytes.count, using: &generator)
            bytes[place] = Array("Aa0-_.".utf8).randomElement(using: &generator) ?? 0
            guard bytes != good else { continue }
            // The last digit of the signature has bits that say nothing.
            if place == bytes.count - 1 { continue }
            #expect(try await self.refusal(of: String(decoding: bytes, as: UTF8.self), by: verifier) != nil)
        }
    }
}

extension Logger {
    static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}
