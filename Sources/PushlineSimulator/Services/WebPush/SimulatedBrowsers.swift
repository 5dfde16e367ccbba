import Crypto
import Foundation
import NIOConcurrencyHelpers
import PushModel

/// Browsers with subscriptions: one for each name, its keys made of the simulator's own, so that none is stored.
struct SimulatedBrowsers: Sendable {
    /// The path of endpoints; the browser's name follows.
    static let path = "/web/"

    /// A browser's half of its subscription.
    struct Browser: Sendable {
        let key: P256.KeyAgreement.PrivateKey
        let publicKey: [UInt8]
        let authenticationSecret: [UInt8]
        /// The handle that apps send to.
        let handle: String
    }

    private let seed: SymmetricKey
    /// Keys cost some time, and a browser gets many pushes.
    private let known = NIOLockedValueBox<[String: Browser]>([:])

    private static let maximumKnown = 100_000

    init(_ keys: KeyMaterial) {
        self.seed = SymmetricKey(data: keys.vapidKey.rawRepresentation)
    }

    /// - Parameters:
    ///   - name: The browser's name.
    ///   - base: How endpoints begin.
    /// - Returns: The browser; nil where it can have no name like that.
    func browser(_ name: String, at base: String) -> Browser? {
        if let known = self.known.withLockedValue({ $0[name] }) { return known }
        guard let endpoint = try? WebPushEndpoint(base + name) else { return nil }
        let key = self.key(of: name)
        let publicKey = Array(key.publicKey.x963Representation)
        let secret = self.bytes("auth", of: name, count: 16)
        let subscription = WebPushSubscription(
            endpoint: endpoint,
            publicKey: publicKey,
            authenticationSecret: secret
        )
        let browser = Browser(
            key: key,
            publicKey: publicKey,
            authenticationSecret: secret,
            handle: subscription.handle
        )
        self.known.withLockedValue {
            if $0.count >= Self.maximumKnown { $0 = [:] }
            $0[name] = browser
        }
        return browser
    }

    /// The handle of a browser; empty where it can have no name like that.
    func handle(of name: String, at base: String) -> String { self.browser(name, at: base)?.handle ?? "" }

    private func key(of name: String, attempt: Int = 0) -> P256.KeyAgreement.PrivateKey {
        let bytes = self.bytes("key \(attempt)", of: name, count: 32)
        // One in four thousand million numbers is no key.
        guard let key = try? P256.KeyAgreement.PrivateKey(rawRepresentation: bytes) else {
            return self.key(of: name, attempt: attempt + 1)
        }
        return key
    }

    private func bytes(_ purpose: String, of name: String, count: Int) -> [UInt8] {
        unsafe HKDF<SHA256>.deriveKey(
            inputKeyMaterial: self.seed,
            info: Data("\(purpose) of \(name)".utf8),
            outputByteCount: count
        ).withUnsafeBytes { unsafe Array($0) }
    }
}

extension SimulatedBrowsers.Browser {
    /// The most bytes of a body that a push service must take (RFC 8030, section 7.2).
    static let maximumBody = 4096

    /// What a browser does with a push: reads the one record of `aes128gcm` (RFC 8188, RFC 8291).
    ///
    /// - Returns: The message; nil where the body is not for it, or not in order.
    func decrypt(_ body: [UInt8]) -> [UInt8]? {
        // Salt, size of records, length of the sender's key, and the key.
        guard body.count > 86 + 17, body[20] == 65 else { return nil }
        let salt = body[..<16]
        let recordSize = body[16..<20].reduce(0) { $0 << 8 | Int($1) }
        let sender = body[21..<86]
        let sealed = body[86...]
        guard recordSize >= 18, sealed.count <= recordSize,
            let senderKey = try? P256.KeyAgreement.PublicKey(x963Representation: sender),
            let shared = try? self.key.sharedSecretFromKeyAgreement(with: senderKey)
        else { return nil }
        let material = shared.hkdfDerivedSymmetricKey(
            using: SHA256.self,
            salt: self.authenticationSecret,
            sharedInfo: Data("WebPush: info\0".utf8) + self.publicKey + sender,
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
        guard let number = try? AES.GCM.Nonce(data: nonce),
            let box = try? AES.GCM.SealedBox(nonce: number, ciphertext: sealed.dropLast(16), tag: sealed.suffix(16)),
            let padded = try? AES.GCM.open(box, using: derive("aes128gcm", 16))
        else { return nil }
        // The last record ends with 2 and zeros.
        guard let end = padded.lastIndex(where: { $0 != 0 }), padded[end] == 2 else { return nil }
        return Array(padded[..<end])
    }
}
