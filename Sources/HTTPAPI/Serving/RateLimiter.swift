import NIOConcurrencyHelpers
import PushModel

/// A bucket of requests for each caller: it fills at the rate and holds a second's worth.
final class RateLimiter: Sendable {
    private struct Bucket {
        var tokens: Double
        var filled: ContinuousClock.Instant

        /// - Returns: nil when there was a token, else the seconds until there is one.
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

    /// - Parameter capacity: The most callers to keep in mind; a full bucket is as good as none.
    init(capacity: Int = 20_000) { self.capacity = capacity }

    /// Takes a request from the caller's bucket.
    ///
    /// - Parameters:
    ///   - caller: Who asks.
    ///   - rate: Requests a second; nil or less than 1 = no limit.
    ///   - now: This moment.
    /// - Returns: nil when the request may go on, else the seconds after which the next one may.
    func take(_ caller: Caller, rate: Int?, now: ContinuousClock.Instant = .now) -> Int? {
        guard let rate, rate > 0 else { return nil }
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
