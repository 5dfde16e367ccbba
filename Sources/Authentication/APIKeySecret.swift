import Crypto
import PushModel

/// The secret of a backend's key: `plk_` and 32 random bytes in base64url.
///
/// It is shown once and kept as a hash.
package struct APIKeySecret: Sendable {
    package static let prefix = "plk_"

    /// The value of `Authorization: Bearer …`.
    package let text: String

    /// A new secret.
    package static func make() -> APIKeySecret {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        return APIKeySecret(text: Self.prefix + Base64URL.encode(bytes))
    }

    /// SHA-256 of the text, for the store.
    ///
    /// 256 random bits need no slow hash.
    package var hash: [UInt8] {
        var text = self.text
        // In one piece: as a sequence of bytes a digest makes three arrays.
        return text.withUTF8 { text in
            unsafe SHA256.hash(data: UnsafeRawBufferPointer(text)).withUnsafeBytes { unsafe Array($0) }
        }
    }

    private init(text: String) { self.text = text }

    /// Reads a secret from a request.
    ///
    /// - Returns: nil for text that has not the form of our secrets.
    package init?(_ text: String) {
        guard text.hasPrefix(Self.prefix), text.utf8.count <= 128 else { return nil }
        self.text = text
    }
}
