import Crypto
import NIOConcurrencyHelpers
import PushModel

/// The tokens by which push services know the app (VAPID, RFC 8292): one for each origin, kept for half of its life.
final class VAPIDTokens: Sendable {
    struct Token: Sendable, Equatable {
        /// The value of `Authorization`.
        let authorization: String
        let minted: ContinuousClock.Instant
        /// By the wall clock.
        let issued: Timestamp
    }

    /// Half of what RFC 8292 allows.
    private static let validity: Int64 = 12 * 3600
    private static let lifetime = Duration.seconds(6 * 3600)
    /// Apple wants none that is younger to be replaced.
    private static let shortestLifetime = Duration.seconds(3600)
    /// By how much the wall clock may be set while a token stands.
    private static let tolerance = Duration.seconds(-60)...Duration.seconds(60)
    /// Devices choose origins, so there is an end to them.
    private static let maximumOrigins = 1000

    private let signer: TokenSigner
    private let publicKey: String
    private let subject: String
    private let tokens = NIOLockedValueBox<[String: Token]>([:])

    /// - Parameters:
    ///   - pem: The content of the private key's file.
    ///   - publicKey: The public key of the app's declaration.
    ///   - subject: `mailto:` or `https:`.
    /// - Throws: ``SenderError`` where the key is none, or not that of the public one.
    init(pem: [UInt8], publicKey: String, subject: String) throws(SenderError) {
        guard let key = try? P256.Signing.PrivateKey(pemRepresentation: String(decoding: pem, as: UTF8.self)) else {
            throw SenderError(
                .invalid,
                "web.private_key_file: not an EC P-256 private key in PEM; make one with `pushline keys vapid`"
            )
        }
        guard WebPushSubscription.key(publicKey) == Array(key.publicKey.x963Representation) else {
            throw SenderError(.invalid, "web.public_key: not the public key of the private key in web.private_key_file")
        }
        guard subject.hasPrefix("mailto:") || subject.hasPrefix("https://") else {
            throw SenderError(.invalid, "web.subject: begins with mailto: or https://")
        }
        self.signer = .es256(key)
        self.publicKey = Base64URL.encode(key.publicKey.x963Representation)
        self.subject = subject
    }

    /// The token for an origin: the one that is there, or a new one.
    ///
    /// A new one too where the wall clock was set since, for then the token's end is wrong.
    ///
    /// - Throws: The signer's error; a key that was read does not cause one.
    func token(
        for origin: String,
        now: ContinuousClock.Instant = .now,
        wall: Timestamp = .now
    ) throws -> Token {
        try self.tokens.withLockedValue { tokens in
            if let token = tokens[origin], now - token.minted < Self.lifetime {
                let jump = token.issued.advanced(by: now - token.minted).duration(to: wall)
                if Self.tolerance.contains(jump) { return token }
            }
            return try self.mint(origin, &tokens, now, wall)
        }
    }

    /// A token after `refused` was turned down: another's refresh, or a new one; nil where `refused` is so young that a new one
    /// would not help.
    ///
    /// - Throws: As ``token(for:now:wall:)``.
    func token(
        replacing refused: Token,
        for origin: String,
        now: ContinuousClock.Instant = .now,
        wall: Timestamp = .now
    ) throws -> Token? {
        try self.tokens.withLockedValue { tokens in
            if let token = tokens[origin], token != refused { return token }
            guard now - refused.minted >= Self.shortestLifetime else { return nil }
            return try self.mint(origin, &tokens, now, wall)
        }
    }

    private func mint(
        _ origin: String,
        _ tokens: inout [String: Token],
        _ now: ContinuousClock.Instant,
        _ wall: Timestamp
    ) throws -> Token {
        let claims = JSONValue.members([
            "aud": .string(origin), "exp": .integer(Int(wall.seconds + Self.validity)), "sub": .string(self.subject),
        ])
        let text = try self.signer.token(keyID: nil, claims: claims, type: "JWT")
        let token = Token(authorization: "vapid t=\(text), k=\(self.publicKey)", minted: now, issued: wall)
        if tokens.count >= Self.maximumOrigins { tokens = [:] }
        tokens[origin] = token
        return token
    }
}
