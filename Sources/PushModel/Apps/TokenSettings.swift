/// The tokens that an app's own issuer signs for its users: JSON Web Tokens (RFC 7519).
package struct TokenSettings: SettingsSection, Equatable {
    /// How a token is signed (RFC 7518, section 3.1).
    package enum Algorithm: String, Sendable, CaseIterable {
        /// RSASSA-PKCS1-v1_5 with SHA-256.
        case rs256 = "RS256"
        /// ECDSA on P-256 with SHA-256.
        case es256 = "ES256"
    }

    /// Where the issuer's key set is (RFC 7517).
    package enum KeySetPlace: Sendable, Hashable {
        /// A file on this host.
        case file(path: String)
        /// An https address, and the PEM file of the authorities to trust; nil = the system's.
        case address(url: String, trustFile: String?)
    }

    @Setting(required: .text, "the value of the claim iss", example: "\"https://login.example.com/\"")
    package var issuer: String
    @Setting(required: .text, "a value of the claim aud", example: "push") package var audience: String
    // Only these: a token says how it is signed, and decides nothing.
    @Setting(
        .list(of: .choice).checked { found throws(InvalidValue) in
            if found.isEmpty { throw InvalidValue("names no algorithm") }
        },
        "how tokens may be signed"
    )
    package var algorithms = Algorithm.allCases
    @Setting(
        .address,
        "the issuer's public keys (JSON Web Key Set), from an https address",
        example: "\"https://login.example.com/.well-known/jwks.json\"",
        isUsual: true
    )
    package var jwksURL: String? = nil
    @Setting(.path, "in place of jwks_url: a file with them", example: "secrets/jwks.json")
    package var jwksFile: String? = nil
    @Setting(.path, "certificates to trust at jwks_url in place of the system's, PEM", example: "secrets/authority.pem")
    package var trustFile: String? = nil
    @Setting(.text, "the claim that holds the user's name; a user who can change it can impersonate anyone")
    package var userClaim = "sub"
    @Setting(.flag, "true: a token's user and the account of that name are one; false: such a token is refused")
    package var sameUsers = false

    package init() {}

    package var keySet: KeySetPlace {
        get { self.jwksFile.map { .file(path: $0) } ?? .address(url: self.jwksURL ?? "", trustFile: self.trustFile) }
        set {
            switch newValue {
            case .file(let path): (self.jwksFile, self.jwksURL, self.trustFile) = (path, nil, nil)
            case .address(let url, let trust): (self.jwksFile, self.jwksURL, self.trustFile) = (nil, url, trust)
            }
        }
    }

    package var fault: SettingFault? {
        switch (self.jwksFile, self.jwksURL) {
        case (_?, nil): self.trustFile.map { _ in SettingFault("can only be used with jwks_url", path: "trust_file") }
        case (nil, _?): nil
        case (_?, _?): SettingFault("cannot be used with jwks_file; remove one of them", path: "jwks_url")
        case (nil, nil):
            SettingFault("is missing; give jwks_url or jwks_file", path: "jwks_file")
        }
    }
}
