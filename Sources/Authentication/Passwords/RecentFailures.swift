import PushModel

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// How often each key failed lately: a failure counts half after ten minutes, a quarter after twenty.
///
/// Bounded: above the capacity the keys with the fewest failures are removed.
struct RecentFailures<Key: Hashable & Sendable>: Sendable {
    private struct Entry {
        var count: Double
        var time: ContinuousClock.Instant
    }

    /// A lower count is treated as no failure.
    static var least: Double { 0.5 }

    private var entries: [Key: Entry] = [:]
    private let halfLife: Duration
    private let capacity: Int

    /// - Parameters:
    ///   - halfLife: After which a failure counts half.
    ///   - capacity: The most keys to keep.
    init(halfLife: Duration = .seconds(600), capacity: Int = 20_000) {
        self.halfLife = halfLife
        self.capacity = capacity
    }

    /// How many keys are kept.
    var keys: Int { self.entries.count }

    /// The key's failures, decayed to now: 0, or at least ``least``.
    func count(_ key: Key, now: ContinuousClock.Instant) -> Double {
        let count = self.entries[key].map { self.count($0, now: now) } ?? 0
        return count < Self.least ? 0 : count
    }

    mutating func add(_ key: Key, now: ContinuousClock.Instant) {
        self.entries[key] = Entry(count: self.count(key, now: now) + 1, time: now)
        if self.entries.count > self.capacity { self.evict(now: now) }
    }

    private func count(_ entry: Entry, now: ContinuousClock.Instant) -> Double {
        entry.count * exp2(-(now - entry.time).inSeconds / self.halfLife.inSeconds)
    }

    /// Removes expired keys, and if too few are, a quarter of the rest, so that not every new key sorts them.
    private mutating func evict(now: ContinuousClock.Instant) {
        self.entries = self.entries.filter { self.count($0.value, now: now) >= Self.least }
        guard self.entries.count > self.capacity else { return }
        let order = self.entries.map { (key: $0.key, count: self.count($0.value, now: now)) }
            .sorted { $0.count < $1.count }
        for (key, _) in order.prefix(self.capacity / 4 + 1) { self.entries[key] = nil }
    }
}
