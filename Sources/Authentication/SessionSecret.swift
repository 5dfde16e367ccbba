/// The secret of a session, which a browser's cookie has: `pls_` and 32 random bytes in base64url.
///
/// It is kept as a hash.
package struct SessionSecret: Sendable {
    package static let prefix = "pls_"

    /// The value of the cookie.
    package let text: String

    /// A new secret.
    package static func make() -> SessionSecret { SessionSecret(text: RandomSecret.make(prefix: Self.prefix)) }

    /// What a secret opens.
    package enum Purpose: Sendable {
        /// A session of the app's page.
        case page
        /// A session of the console.
        case console
        /// One session of the console, whose secret is another.
        case link
    }

    /// SHA-256 for the store, under which the secret opens that and nothing else.
    package func hash(for purpose: Purpose) -> [UInt8] {
        switch purpose {
        case .page: RandomSecret.hash(self.text)
        case .console: RandomSecret.hash("console " + self.text)
        case .link: RandomSecret.hash("link " + self.text)
        }
    }

    private init(text: String) { self.text = text }

    /// Reads a secret from a request.
    ///
    /// - Returns: nil for text that has not the form of our secrets.
    package init?(_ text: String) {
        guard RandomSecret.isSecret(text, prefix: Self.prefix) else { return nil }
        self.text = text
    }
}
