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
    /// - Returns: The browser; nil if it can have no name like that.
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

    /// The handle of a browser; empty if it can have no name like that.
    func handle(of name: String, at base: String) -> String { self.browser(name, at: base)?.handle ?? "" }

    private func key(of name: String, attempt: Int = 0) -> P256.KeyAgreement.PrivateKey {
        let bytes = self.bytes("key \(attempt)", of: name, count: 32)
        // One in four thousand million numbers is not a key.
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

    /// What a browser does with a push: agrees on a key with its sender (RFC 8291), and reads the one record.
    ///
    /// - Returns: The message; nil if the body is not for it, or not in order.
    func decrypt(_ body: [UInt8]) -> [UInt8]? {
        guard let content = EncryptedContent(body),
            let senderKey = try? P256.KeyAgreement.PublicKey(x963Representation: content.keyID),
            let shared = try? self.key.sharedSecretFromKeyAgreement(with: senderKey)
        else { return nil }
        return content.open(
            with: shared.hkdfDerivedSymmetricKey(
                using: SHA256.self,
                salt: self.authenticationSecret,
                sharedInfo: Data("WebPush: info\0".utf8) + self.publicKey + content.keyID,
                outputByteCount: 32
            )
        )
    }
}
