import Crypto
import PushModel
import Store

/// Remembers correct passwords for hours after their last use, so that a returning user costs no scrypt.
///
/// An entry is a MAC of the password and its stored hash, under a key that exists only in this process: neither is of
/// use elsewhere. A new password has another stored hash, and so another entry.
struct PasswordMemory: Sendable {
    /// The MAC of a password and the stored hash that it is compared with.
    struct Pair: Hashable, Sendable {
        private let words: (UInt64, UInt64, UInt64, UInt64)

        fileprivate init(_ mac: HMAC<SHA256>.MAC) {
            self.words = unsafe mac.withUnsafeBytes { bytes in
                unsafe bytes.loadUnaligned(as: (UInt64, UInt64, UInt64, UInt64).self)
            }
        }

        static func == (lhs: Pair, rhs: Pair) -> Bool { lhs.words == rhs.words }

        // All bits of a MAC are equally good.
        func hash(into hasher: inout Hasher) { hasher.combine(self.words.0) }
    }

    private let right: ExpiringCache<Pair, ContinuousClock.Instant>
    /// A use puts an entry's end off only after this time: each storing leaves a trace in the cache until the end.
    private let pause: Duration
    private let mac = HMAC<SHA256>(key: SymmetricKey(size: .bits256))

    /// - Parameters:
    ///   - lifetime: How long a password is remembered after it was used last, or up to an eighth less.
    ///   - capacity: The most to remember, some 200 bytes each; those that were used longest ago go first.
    init(lifetime: Duration, capacity: Int) {
        self.right = ExpiringCache(lifetime: lifetime, capacity: capacity)
        self.pause = lifetime / 8
    }

    func pair(_ password: String, _ hash: String) -> Pair {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(hash.utf8.count + 1 + password.utf8.count)
        bytes += hash.utf8
        // No hash holds it.
        bytes.append(0)
        bytes += password.utf8
        var mac = self.mac
        mac.update(data: bytes)
        return Pair(mac.finalize())
    }

    /// Whether the pair was right lately; if so it is remembered for longer.
    func recall(_ pair: Pair, now: ContinuousClock.Instant = .now) -> Bool {
        guard let used = self.right[pair, now: now] else { return false }
        if now - used >= self.pause { self.right.store(now, for: pair, now: now) }
        return true
    }

    func remember(_ pair: Pair, now: ContinuousClock.Instant = .now) {
        self.right.store(now, for: pair, now: now)
    }
}
