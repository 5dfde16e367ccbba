import NIOConcurrencyHelpers
import PushModel

/// The provider token (a JWT signed with ES256) for one team and key: minted seldom, shared by all requests.
///
/// APNs takes a token for an hour, and is cross about a new one more often than every 20 minutes on a connection.
final class APNsProviderToken: Sendable {
    struct Token: Sendable, Equatable {
        let text: String
        let minted: ContinuousClock.Instant
        /// The token's own issue time.
        let issued: Timestamp
    }

    /// By how much the wall clock may be set without a token's issue time being wrong, or having been wrong when it was minted.
    private static let tolerance = Duration.seconds(-60)...Duration.seconds(60)

    /// When a token is replaced.
    private let lifetime: Duration
    /// The least age of a replaced token, despite any answers.
    private let shortestLifetime: Duration
    private let signer: TokenSigner
    private let keyID: String
    private let teamID: String
    private let current = NIOLockedValueBox<Token?>(nil)

    /// - Parameters:
    ///   - pem: The content of the `.p8` file.
    ///   - keyID: As Apple shows it for the key.
    ///   - teamID: As Apple shows it for the account.
    ///   - lifetime: When a token is replaced.
    ///   - shortestLifetime: No token younger than this is replaced.
    /// - Throws: ``SenderError`` when the key is none.
    init(
        pem: [UInt8],
        keyID: String,
        teamID: String,
        lifetime: Duration = .seconds(45 * 60),
        shortestLifetime: Duration = .seconds(20 * 60)
    ) throws(SenderError) {
        do {
            self.signer = try TokenSigner.es256(pem: String(decoding: pem, as: UTF8.self))
        } catch {
            throw SenderError(
                .invalid,
                "apns.key_file: not an EC P-256 private key in PEM (the .p8 file that Apple gives)"
            )
        }
        for (name, value) in [("key_id", keyID), ("team_id", teamID)] {
            let isPlain = value.utf8.allSatisfy { byte in
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
            }
            guard isPlain, !value.isEmpty else {
                throw SenderError(.invalid, "apns.\(name): letters and digits only, as Apple shows it")
            }
        }
        self.keyID = keyID
        self.teamID = teamID
        self.lifetime = lifetime
        self.shortestLifetime = shortestLifetime
    }

    /// The token to use now.
    ///
    /// It stands whatever the wall clock is set to meanwhile: only APNs can tell which of the two times is right.
    ///
    /// - Parameters:
    ///   - now: The present time.
    ///   - wall: The present by the wall clock.
    /// - Returns: The cached token, or a new one.
    /// - Throws: The signer's error; a key that was read does not cause one.
    func token(now: ContinuousClock.Instant = .now, wall: Timestamp = .now) throws -> Token {
        try self.current.withLockedValue { current in
            if let current, now - current.minted < self.lifetime { return current }
            let token = try self.mint(now, wall)
            current = token
            return token
        }
    }

    /// A token after `refused` was turned down: another's refresh, or a new one.
    ///
    /// - Returns: nil when `refused` is so young that a new one would not help; then clock, key or team are wrong. One of any age is
    ///   replaced where the wall clock was set since it was minted.
    /// - Throws: As ``token(now:)``.
    func token(
        replacing refused: Token,
        now: ContinuousClock.Instant = .now,
        wall: Timestamp = .now
    ) throws -> Token? {
        try self.current.withLockedValue { current in
            if let current, current != refused { return current }
            let age = now - refused.minted
            let jump = refused.issued.advanced(by: age).duration(to: wall)
            guard age >= self.shortestLifetime || !Self.tolerance.contains(jump) else { return nil }
            let token = try self.mint(now, wall)
            current = token
            return token
        }
    }

    private func mint(_ now: ContinuousClock.Instant, _ wall: Timestamp) throws -> Token {
        let claims = JSONValue.members(["iss": .string(self.teamID), "iat": .integer(Int(wall.seconds))])
        return Token(text: try self.signer.token(keyID: self.keyID, claims: claims), minted: now, issued: wall)
    }
}
