import PushModel

/// The waits of retries: exponential backoff with full jitter, never shorter than the push service's Retry-After.
package struct RetryPolicy: Sendable {
    /// Doubled with each try: the first retry waits at most twice this.
    package var base: Duration = .seconds(1)
    /// The greatest backoff.
    package var cap: Duration = .seconds(15 * 60)
    /// The pause of an app whose credentials are refused or missing, before its growth with each attempt.
    package var stopPause: Duration = .seconds(5)
    /// The greatest pause of such an app.
    package var stopCap: Duration = .seconds(5 * 60)

    package init() {}

    /// The wait before the next try of a device.
    ///
    /// - Parameters:
    ///   - tries: How often it was tried, at least 1.
    ///   - asked: The push service's `Retry-After`.
    ///   - jitter: 0 to 1; one draw for a whole batch, so that its devices stay together.
    /// - Returns: The wait from now on.
    package func wait(tries: Int, asked: Duration?, jitter: Double) -> Duration {
        max(Self.grown(self.base, by: tries, cap: self.cap) * jitter, asked ?? .zero)
    }

    /// The wait of a batch whose app is stopped.
    ///
    /// - Parameters:
    ///   - attempt: Of the batch.
    ///   - jitter: 0 to 1.
    /// - Returns: The wait from now on.
    package func stopWait(attempt: Int, jitter: Double) -> Duration {
        Self.grown(self.stopPause, by: attempt, cap: self.stopCap) * (0.5 + jitter / 2)
    }

    private static func grown(_ base: Duration, by steps: Int, cap: Duration) -> Duration {
        // 2^20 s is far beyond any cap, and small enough to multiply.
        min(base * (1 << min(max(steps, 0), 20)), cap)
    }
}
