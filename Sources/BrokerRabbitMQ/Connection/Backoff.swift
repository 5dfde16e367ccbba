/// How long to wait before the next attempt: doubling between two bounds.
struct Backoff {
    private let bounds: ClosedRange<Duration>
    private var attempts = 0

    init(_ bounds: ClosedRange<Duration>) {
        self.bounds = bounds
    }

    mutating func reset() {
        self.attempts = 0
    }

    /// The next wait, without a random part.
    mutating func next() -> Duration {
        defer { self.attempts += 1 }
        return min(self.bounds.upperBound, self.bounds.lowerBound * (1 << min(self.attempts, 16)))
    }

    /// The next wait, a random value in the upper half of the doubled interval, so that many processes do not return at
    /// once.
    mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
        self.next() * Double.random(in: 0.5...1, using: &generator)
    }
}
