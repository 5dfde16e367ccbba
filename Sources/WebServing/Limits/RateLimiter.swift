import NIOConcurrencyHelpers
import PushModel

/// A bucket of requests for each caller: it fills at the rate and holds a second's worth.
final class RateLimiter: Sendable {
    private struct Bucket {
        var tokens: Double
        var filled: ContinuousClock.Instant

        /// - Returns: nil with a token taken, otherwise the seconds until one is free.
        mutating func take(most: Double, now: ContinuousClock.Instant) -> Int? {
            self.tokens = min(most, self.tokens + (now - self.filled).inSeconds * most)
            self.filled = now
            guard self.tokens < 1 else {
                self.tokens -= 1
                return nil
            }
            return max(1, Int(((1 - self.tokens) / most).rounded(.up)))
        }
    }

    private let buckets = NIOLockedValueBox<[Caller: Bucket]>([:])
    private let capacity: Int

    /// - Parameter capacity: The most callers to remember; full buckets are dropped first.
    init(capacity: Int = 20_000) { self.capacity = capacity }

    /// Takes a request from the caller's bucket.
    ///
    /// - Parameters:
    ///   - caller: The caller.
    ///   - rate: Requests a second, at least 1.
    ///   - now: The current time.
    /// - Returns: nil if the request may proceed, otherwise the seconds until the next one may.
    func take(_ caller: Caller, rate: Int, now: ContinuousClock.Instant = .now) -> Int? {
        let most = Double(rate)
        return self.buckets.withLockedValue { buckets in
            let seconds = buckets[caller, default: Bucket(tokens: most, filled: now)].take(most: most, now: now)
            if buckets.count > self.capacity {
                // Idle for a second = full.
                buckets = buckets.filter { now - $0.value.filled < .seconds(1) }
            }
            return seconds
        }
    }
}
