import PushModel

/// A limit of devices a second, kept as the moment up to which it is used up (rule 12).
///
/// All in nanoseconds of the store's clock. What was not used within ``depth`` is lost, so that nothing bursts after a rest. Taking
/// may lead into the future: that debt is waited for.
struct RateBucket: Equatable {
    /// Devices a second, at least 1.
    let rate: Int64
    /// Up to then it is used up.
    private(set) var used: Int64

    /// How much may be fed at once, and how far ahead urgent traffic may go, in time.
    private static let depth: Int64 = 200_000_000
    private static let second: Int64 = 1_000_000_000

    /// - Parameters:
    ///   - rate: Devices a second.
    ///   - used: Up to when they are used up, as it was kept.
    ///   - now: Now.
    init(rate: Int, used: Int64, now: Int64) {
        self.rate = Int64(max(1, rate))
        // A debt of a whole batch is the greatest; an older and slower rate left a longer one.
        let debt = Int64(DeliverBatch.maximumDevices) * Self.second / self.rate
        self.used = min(used, now + max(debt, Self.depth))
    }

    /// The time in which what may be fed at once comes together: at least one device.
    private var depth: Int64 { max(Self.depth, self.time(of: 1)) }

    /// How many devices make a step worth its while: half of what may be fed at once, at most a batch.
    private var step: Int64 {
        min(max(1, self.rate * self.depth / 2 / Self.second), Int64(DeliverBatch.maximumDevices))
    }

    /// How many devices may be fed now; 0 where they would be few, but for urgent ones.
    func devices(at now: Int64, isUrgent: Bool) -> Int {
        let since = now - max(self.used, now - self.depth)
        let free = (since + (isUrgent ? self.depth : 0)) * self.rate / Self.second
        return free >= (isUrgent ? 1 : self.step) ? Int(free) : 0
    }

    /// How long until there are some, in nanoseconds.
    func wait(at now: Int64, isUrgent: Bool) -> Int64 {
        let needed = self.time(of: isUrgent ? 1 : self.step)
        let since = now - max(self.used, now - self.depth)
        return max(0, needed - since - (isUrgent ? self.depth : 0))
    }

    mutating func take(_ devices: Int, at now: Int64) {
        self.used = max(self.used, now - self.depth) + self.time(of: Int64(devices))
    }

    /// The time that so many devices take up; rounded up, for many small steps must not add up to more than the rate.
    private func time(of devices: Int64) -> Int64 { (devices * Self.second + self.rate - 1) / self.rate }
}
