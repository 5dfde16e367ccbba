import PushModel

/// A limit of devices a second, by the generic cell rate algorithm (rule 12).
///
/// The only state is the theoretical arrival time: the moment up to which the limit is used up.
///
/// All times are nanoseconds of the store's clock. After an idle interval only ``burst`` may be sent at once. A shorter
/// gap is the lateness of a send worker and is made up for, otherwise a busy machine would not reach the rate. Taking
/// may create a debt, which later takers wait for.
package struct GCRA: Equatable {
    /// Devices a second, at least 1.
    package let rate: Int64
    /// The theoretical arrival time: up to then it is used up.
    package private(set) var tat: Int64

    /// How much may be sent at once after an idle interval, and how far ahead urgent traffic may go, in time.
    private static let burst: Int64 = 200_000_000
    /// How late who waits for a step may be before that is an idle interval.
    private static let tolerance: Int64 = 400_000_000
    private static let second: Int64 = 1_000_000_000

    /// - Parameters:
    ///   - rate: Devices a second.
    ///   - tat: Up to when they are used up, as it was kept.
    ///   - now: Now.
    package init(rate: Int, tat: Int64, now: Int64) {
        self.rate = Int64(max(1, rate))
        // A debt of a whole batch is the greatest; an older and slower rate left a longer one.
        let debt = Int64(DeliverBatch.maximumDevices) * Self.second / self.rate
        // Nor does it matter how long ago more than an idle interval was.
        self.tat = max(0, min(tat, now + max(debt, Self.burst)))
    }

    /// The time in which a burst accumulates: at least one device.
    private var burst: Int64 { max(Self.burst, self.time(of: 1)) }

    /// The least devices worth a step: half a burst, at most a batch.
    private var step: Int64 {
        min(max(1, self.rate * self.burst / 2 / Self.second), Int64(DeliverBatch.maximumDevices))
    }

    /// The time not used up yet; negative = a debt.
    private func unused(at now: Int64) -> Int64 {
        let gap = now - self.tat
        return gap > self.time(of: self.step) + Self.tolerance ? self.burst : gap
    }

    /// How many devices may be sent now; 0 if they would be few, but for urgent ones.
    package func devices(at now: Int64, isUrgent: Bool) -> Int {
        let free = (self.unused(at: now) + (isUrgent ? self.burst : 0)) * self.rate / Self.second
        return free >= (isUrgent ? 1 : self.step) ? Int(free) : 0
    }

    /// How long until there are some, in nanoseconds.
    package func wait(at now: Int64, isUrgent: Bool) -> Int64 {
        max(0, self.time(of: isUrgent ? 1 : self.step) - self.unused(at: now) - (isUrgent ? self.burst : 0))
    }

    /// Counts devices that are sent.
    package mutating func take(_ devices: Int, at now: Int64) {
        self.tat = now - self.unused(at: now) + self.time(of: Int64(devices))
    }

    /// The time used up by devices; rounded up, so that many small steps do not exceed the rate.
    private func time(of devices: Int64) -> Int64 { (devices * Self.second + self.rate - 1) / self.rate }
}
