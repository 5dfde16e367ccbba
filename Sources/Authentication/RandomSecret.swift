import Crypto
import PushModel

/// A prefix and 32 random bytes in base64url: what a key and a session are known by, kept as a hash.
enum RandomSecret {
    static func make(prefix: String) -> String {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        return prefix + Base64URL.encode(bytes)
    }

    /// SHA-256 of the text, for the store.
    ///
    /// 256 random bits need no slow hash.
    static func hash(_ text: String) -> [UInt8] {
        var text = text
        // In one piece: as a sequence of bytes a digest makes three arrays.
        return text.withUTF8 { text in
            unsafe SHA256.hash(data: UnsafeRawBufferPointer(text)).withUnsafeBytes { unsafe Array($0) }
        }
    }

    /// Whether a text of a request has the form of a secret with that prefix.
    static func isSecret(_ text: String, prefix: String) -> Bool { text.hasPrefix(prefix) && text.utf8.count <= 128 }
}
