package import Logging
package import PushModel

/// A token that was found good.
package struct VerifiedToken: Sendable, Equatable {
    /// The text of the claim that names the user; nil = it is missing or no text.
    package let user: String?
    /// Until when the token is good.
    package let end: Timestamp
}

/// Verifies the tokens of an app's own issuer.
///
/// Whatever is cheap comes first: a token costs one check of a signature at most, and only if one of the issuer's keys may have
/// made it.
package struct TokenVerifier: Sendable {
    /// By how much the clocks of issuer and host may differ.
    static let leeway = Duration.seconds(60)

    package let settings: TokenSettings
    private let keys: KeyCache

    init(settings: TokenSettings, keys: KeyCache) {
        self.settings = settings
        self.keys = keys
    }

    /// - Parameters:
    ///   - settings: The app's declaration.
    ///   - waiting: Bounds the tokens of all apps that wait for keys.
    ///   - logger: For what happens to the keys.
    package init(_ settings: TokenSettings, waiting: WaitLimit, logger: Logger) {
        self.init(settings: settings, keys: KeyCache(settings.keySet, waiting: waiting, logger: logger))
    }

    /// Verifies a token.
    ///
    /// - Parameters:
    ///   - text: The token.
    ///   - now: The present time.
    /// - Returns: What it says.
    /// - Throws: ``TokenRefusal``.
    package func verify(_ text: String, now: Timestamp = .now) async throws(TokenRefusal) -> VerifiedToken {
        let token = try SignedToken(text)
        guard let algorithm = TokenSettings.Algorithm(rawValue: token.algorithm),
            self.settings.algorithms.contains(algorithm)
        else { throw .invalid("the token is signed by an algorithm that the app does not take") }
        let key = try await self.keys.key(id: token.keyID, for: algorithm)
        guard try key.isValid(token.signature(), of: token.signed) else {
            throw .invalid("the token's signature is wrong")
        }
        return try self.read(token.claims(), now: now)
    }

    private func read(_ claims: UniqueMembers, now: Timestamp) throws(TokenRefusal) -> VerifiedToken {
        guard claims["iss"] == .string(self.settings.issuer) else { throw .invalid("the token is of another issuer") }
        let audience = JSONValue.string(self.settings.audience)
        switch claims["aud"] {
        case audience?: break
        case .array(let all)? where all.contains(audience): break
        default: throw .invalid("the token is for another audience")
        }
        guard let end = try Self.time("exp", in: claims)?.advanced(by: Self.leeway) else {
            throw .invalid("the token has no exp")
        }
        guard now < end else { throw .invalid("the token has expired") }
        let latest = now.advanced(by: Self.leeway)
        for claim in ["nbf", "iat"] {
            if let start = try Self.time(claim, in: claims), start > latest {
                throw .invalid("the token's \(claim) is in the future")
            }
        }
        guard case .string(let user)? = claims[self.settings.userClaim] else {
            return VerifiedToken(user: nil, end: end)
        }
        return VerifiedToken(user: user, end: end)
    }

    /// A NumericDate (RFC 7519, section 2), perhaps with a fraction.
    private static func time(_ claim: String, in claims: UniqueMembers) throws(TokenRefusal) -> Timestamp? {
        guard let value = claims[claim] else { return nil }
        // Beyond the year 5000 it is milliseconds by mistake: such a token would never expire.
        guard case .number(let text) = value, let seconds = Double(text), (0..<1e11).contains(seconds) else {
            throw .invalid("the token's \(claim) is not a time in seconds")
        }
        return Timestamp(milliseconds: Int64(seconds * 1000))
    }
}
