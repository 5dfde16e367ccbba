import Crypto
import Dispatch
import HTTPTypes
import NIOConcurrencyHelpers
import PushModel
import Store

/// Checks passwords off the event loops, few at a time, and remembers for a minute which were right.
final class PasswordVerifier: Sendable {
    /// The checks that may wait; more are turned away.
    static let maximumWaiting = 64

    private let remembered: ExpiringCache<[UInt8], String>
    /// Serial, so that a repeat of a check under way finds its result, and scrypt's memory is had once.
    private let queue = DispatchQueue(label: "pushline.passwords")
    private let waiting = NIOLockedValueBox(0)
    private let cacheKey = SymmetricKey(size: .bits256)
    /// Compared with when there is no such account, so that the answer takes as long as for a wrong password.
    private let decoy: PasswordHash?
    private let computed = NIOLockedValueBox(0)

    /// How many hashes were computed.
    var computations: Int { self.computed.withLockedValue { $0 } }

    /// - Parameters:
    ///   - lifetime: How long a right password is remembered.
    ///   - decoy: A hash that no password is known for, of the cost that accounts have.
    init(lifetime: Duration = .seconds(60), decoy: String = PasswordVerifier.standardDecoy) {
        self.remembered = ExpiringCache(lifetime: lifetime, capacity: 10_000)
        self.decoy = PasswordHash(decoy)
    }

    /// Of the standard cost, of a password that nobody knows: salt and hash are constants.
    static let standardDecoy =
        "scrypt$16384$8$5$cHVzaGxpbmUgZGVjb3kgcw==$AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    /// Whether the password is right.
    ///
    /// - Parameters:
    ///   - password: What the caller sent.
    ///   - name: The name that it was sent for, whether there is such an account or not.
    ///   - app: The app.
    ///   - stored: The account's hash, or nil when there is no account that may sign in.
    /// - Returns: true for the right password of an account that may sign in.
    /// - Throws: ``Problem`` 503 when too many checks wait already.
    func verify(_ password: String, name: String, app: AppID, stored: String?) async throws -> Bool {
        let key = self.key(password, name: name, app: app)
        if let stored, self.remembered[key] == stored { return true }
        guard self.enter() else { throw Problem.later(.serviceUnavailable, "too many sign-ins at once", seconds: 1) }
        defer { self.waiting.withLockedValue { $0 -= 1 } }
        return try await withCheckedThrowingContinuation { continuation in
            self.queue.async {
                continuation.resume(with: Result { try self.compute(password, key: key, stored: stored) })
            }
        }
    }

    private func enter() -> Bool {
        self.waiting.withLockedValue { waiting in
            guard waiting < Self.maximumWaiting else { return false }
            waiting += 1
            return true
        }
    }

    private func compute(_ password: String, key: [UInt8], stored: String?) throws -> Bool {
        if let stored, self.remembered[key] == stored { return true }
        self.computed.withLockedValue { $0 += 1 }
        let hash = stored.flatMap(PasswordHash.init)
        let matches = try (hash ?? self.decoy)?.matches(password) ?? false
        guard let stored, hash != nil, matches else { return false }
        self.remembered.store(stored, for: key)
        return true
    }

    /// The password itself is not kept: its keyed hash is, under a key that dies with the process.
    private func key(_ password: String, name: String, app: AppID) -> [UInt8] {
        var mac = HMAC<SHA256>(key: self.cacheKey)
        for part in [app.name, name, password] {
            mac.update(data: Array("\(part.utf8.count):".utf8))
            mac.update(data: Array(part.utf8))
        }
        return Array(mac.finalize())
    }
}
