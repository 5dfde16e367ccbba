package import Crypto
package import PushModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Encrypts messages for browsers (RFC 8291): one record of `aes128gcm` (RFC 8188), with a key pair of its own.
package enum WebPushEncryption {
    /// The most bytes of a body that every push service takes, and the size of the record.
    static let recordSize = 4096

    /// A message that only one browser can read.
    ///
    /// - Parameters:
    ///   - plaintext: At most 3,993 bytes.
    ///   - subscription: The browser's.
    ///   - key: A fresh key; another for test vectors alone.
    ///   - salt: 16 fresh random bytes; others for test vectors alone.
    /// - Returns: The body.
    /// - Throws: The fault of the browser's key.
    package static func encrypt(
        _ plaintext: [UInt8],
        for subscription: WebPushSubscription,
        key: P256.KeyAgreement.PrivateKey = Self.key(),
        salt: [UInt8] = Self.salt()
    ) throws -> [UInt8] {
        let receiver = try P256.KeyAgreement.PublicKey(x963Representation: subscription.publicKey)
        let sender = key.publicKey.x963Representation
        let shared = try key.sharedSecretFromKeyAgreement(with: receiver)
        let material = shared.hkdfDerivedSymmetricKey(
            using: SHA256.self,
            salt: subscription.authenticationSecret,
            sharedInfo: Data("WebPush: info\0".utf8) + subscription.publicKey + sender,
            outputByteCount: 32
        )
        func derive(_ info: String, _ count: Int) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: material,
                salt: salt,
                info: Data("Content-Encoding: \(info)\0".utf8),
                outputByteCount: count
            )
        }
        let nonce = unsafe derive("nonce", 12).withUnsafeBytes { unsafe Data($0) }
        let sealed = try AES.GCM.seal(
            // The delimiter of the last record, without padding.
            plaintext + [2],
            using: derive("aes128gcm", 16),
            nonce: AES.GCM.Nonce(data: nonce)
        )
        var body: [UInt8] = []
        body.reserveCapacity(86 + plaintext.count + 17)
        body += salt
        for shift in [24, 16, 8, 0] { body.append(UInt8(truncatingIfNeeded: Self.recordSize >> shift)) }
        body.append(UInt8(sender.count))
        body += sender
        body += sealed.ciphertext
        body += sealed.tag
        return body
    }

    /// A fresh key, of any form: half of all would be made in vain to find one whose public key needs one coordinate alone.
    package static func key() -> P256.KeyAgreement.PrivateKey {
        P256.KeyAgreement.PrivateKey(compactRepresentable: false)
    }

    /// 16 random bytes.
    package static func salt() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}
