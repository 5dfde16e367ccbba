/// The secret of a session, which a browser's cookie has: `pls_` and 32 random bytes in base64url.
///
/// It is kept as a hash.
package struct SessionSecret: Sendable {
    package static let prefix = "pls_"

    /// The value of the cookie.
    package let text: String

    /// A new secret.
    package static func make() -> SessionSecret { SessionSecret(text: RandomSecret.make(prefix: Self.prefix)) }

    /// SHA-256 of the text, for the store.
    package var hash: [UInt8] { RandomSecret.hash(self.text) }

    private init(text: String) { self.text = text }

    /// Reads a secret from a request.
    ///
    /// - Returns: nil for text that has not the form of our secrets.
    package init?(_ text: String) {
        guard RandomSecret.isSecret(text, prefix: Self.prefix) else { return nil }
        self.text = text
    }
}
