import NIOConcurrencyHelpers

/// Says whether something may be logged that a caller could cause each time: once in five seconds.
package final class Seldom: Sendable {
    private let last = NIOLockedValueBox<ContinuousClock.Instant?>(nil)

    package init() {}

    /// Whether it may be now.
    package func mayHappen() -> Bool {
        self.last.withLockedValue { last in
            if let last, last.duration(to: .now) < .seconds(5) { return false }
            last = .now
            return true
        }
    }
}
