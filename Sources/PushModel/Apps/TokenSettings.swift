/// The tokens that an app's own issuer signs for its users: JSON Web Tokens (RFC 7519).
package struct TokenSettings: Codable, Sendable, Equatable {
    /// How a token is signed (RFC 7518, section 3.1).
    package enum Algorithm: String, Codable, Sendable, CaseIterable {
        /// RSASSA-PKCS1-v1_5 with SHA-256.
        case rs256 = "RS256"
        /// ECDSA on P-256 with SHA-256.
        case es256 = "ES256"
    }

    /// Where the issuer's key set is (RFC 7517).
    package enum KeySetPlace: Codable, Sendable, Hashable {
        /// A file on this host.
        case file(path: String)
        /// An https address, and the PEM file of the authorities to trust; nil = the system's.
        case address(url: String, trustFile: String?)
    }

    /// The value of `iss`.
    package var issuer: String
    /// A value of `aud`.
    package var audience: String
    /// Only these: a token says how it is signed, and decides nothing.
    package var algorithms: [Algorithm]
    package var keySet: KeySetPlace
    /// The claim that holds the user's name.
    package var userClaim: String
    /// Whether a token's user and the account of that name are one; otherwise a token that names an account is refused.
    package var sameUsers: Bool

    package init(
        issuer: String,
        audience: String,
        algorithms: [Algorithm] = Algorithm.allCases,
        keySet: KeySetPlace,
        userClaim: String = "sub",
        sameUsers: Bool = false
    ) {
        self.issuer = issuer
        self.audience = audience
        self.algorithms = algorithms
        self.keySet = keySet
        self.userClaim = userClaim
        self.sameUsers = sameUsers
    }
}
