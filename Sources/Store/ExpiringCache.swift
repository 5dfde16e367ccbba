import DequeModule
import NIOConcurrencyHelpers

/// Values that are good for a while, in bounded number: the oldest goes first.
package final class ExpiringCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct State {
        var values: [Key: (value: Value, until: ContinuousClock.Instant, stamp: UInt64)] = [:]
        var order: Deque<(key: Key, stamp: UInt64)> = []
        var stamp: UInt64 = 0
        /// How often a value was removed.
        var removals: UInt64 = 0
    }

    private let state = NIOLockedValueBox(State())
    private let lifetime: Duration
    private let capacity: Int

    /// - Parameters:
    ///   - lifetime: For how long a value is good; zero = nothing is kept.
    ///   - capacity: The most values to keep.
    package init(lifetime: Duration, capacity: Int) {
        self.lifetime = lifetime
        self.capacity = capacity
    }

    package subscript(key: Key, now now: ContinuousClock.Instant = .now) -> Value? {
        self.state.withLockedValue { state in
            guard let entry = state.values[key], entry.until > now else { return nil }
            return entry.value
        }
    }

    /// How often a value was removed; what is read after this look and stored with it replaces no later removal.
    package var removals: UInt64 { self.state.withLockedValue { $0.removals } }

    /// Forgets the value of a key, also one that a reader is about to store.
    package func remove(_ key: Key) {
        self.state.withLockedValue { state in
            state.values[key] = nil
            state.removals += 1
        }
    }

    /// - Parameters:
    ///   - value: The value.
    ///   - key: Its key.
    ///   - removals: ``removals`` before the value was read; if one came since, nothing is stored.
    ///   - now: The time.
    package func store(
        _ value: Value,
        for key: Key,
        removals: UInt64? = nil,
        now: ContinuousClock.Instant = .now
    ) {
        guard self.lifetime > .zero else { return }
        self.state.withLockedValue { state in
            guard removals == nil || removals == state.removals else { return }
            state.stamp += 1
            state.values[key] = (value, now + self.lifetime, state.stamp)
            state.order.append((key, state.stamp))
            // Every value lives equally long, so the order of storing is that of expiring.
            while let oldest = state.order.first {
                let entry = state.values[oldest.key]
                let isCurrent = entry?.stamp == oldest.stamp
                guard !isCurrent || state.values.count > self.capacity || (entry?.until ?? now) <= now else { break }
                state.order.removeFirst()
                if isCurrent { state.values[oldest.key] = nil }
            }
        }
    }
}
