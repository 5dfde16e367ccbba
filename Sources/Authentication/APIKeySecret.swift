/// The secret of a backend's key: `plk_` and 32 random bytes in base64url.
///
/// It is shown once and kept as a hash.
package struct APIKeySecret: Sendable {
    package static let prefix = "plk_"

    /// The value of `Authorization: Bearer …`.
    package let text: String

    /// A new secret.
    package static func make() -> APIKeySecret { APIKeySecret(text: RandomSecret.make(prefix: Self.prefix)) }

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
