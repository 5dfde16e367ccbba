import PushModel

/// A limit of devices a second, kept as the moment up to which it is used up (rule 12).
///
/// All in nanoseconds of the store's clock. After a rest only ``burst`` may be fed at once. A shorter gap is a planner that was held
/// up: what it missed is made good, else the rate would not be reached on a busy machine. Taking may lead into the future: that
/// debt is waited for.
struct RateBucket: Equatable {
    /// Devices a second, at least 1.
    let rate: Int64
    /// Up to then it is used up.
    private(set) var used: Int64

    /// How much may be fed at once after a rest, and how far ahead urgent traffic may go, in time.
    private static let burst: Int64 = 200_000_000
    /// How late who waits for a step may be before that is a rest.
    private static let patience: Int64 = 400_000_000
    private static let second: Int64 = 1_000_000_000

    /// - Parameters:
    ///   - rate: Devices a second.
    ///   - used: Up to when they are used up, as it was kept.
    ///   - now: Now.
    init(rate: Int, used: Int64, now: Int64) {
        self.rate = Int64(max(1, rate))
        // A debt of a whole batch is the greatest; an older and slower rate left a longer one.
        let debt = Int64(DeliverBatch.maximumDevices) * Self.second / self.rate
        self.used = min(used, now + max(debt, Self.burst))
    }

    /// The time in which what may be fed at once comes together: at least one device.
    private var burst: Int64 { max(Self.burst, self.time(of: 1)) }

    /// How many devices make a step worth its while: half of what may be fed at once, at most a batch.
    private var step: Int64 {
        min(max(1, self.rate * self.burst / 2 / Self.second), Int64(DeliverBatch.maximumDevices))
    }

    /// The time whose devices are not fed yet; negative = a debt.
    private func unused(at now: Int64) -> Int64 {
        let gap = now - self.used
        return gap > self.time(of: self.step) + Self.patience ? self.burst : gap
    }

    /// How many devices may be fed now; 0 where they would be few, but for urgent ones.
    func devices(at now: Int64, isUrgent: Bool) -> Int {
        let free = (self.unused(at: now) + (isUrgent ? self.burst : 0)) * self.rate / Self.second
        return free >= (isUrgent ? 1 : self.step) ? Int(free) : 0
    }

    /// How long until there are some, in nanoseconds.
    func wait(at now: Int64, isUrgent: Bool) -> Int64 {
        max(0, self.time(of: isUrgent ? 1 : self.step) - self.unused(at: now) - (isUrgent ? self.burst : 0))
    }

    mutating func take(_ devices: Int, at now: Int64) {
        self.used = now - self.unused(at: now) + self.time(of: Int64(devices))
    }

    /// The time that so many devices take up; rounded up, for many small steps must not add up to more than the rate.
    private func time(of devices: Int64) -> Int64 { (devices * Self.second + self.rate - 1) / self.rate }
}
