import NIOConcurrencyHelpers

/// Whether short work of the store is done on its caller's thread: while it takes hardly longer than waking another one would.
///
/// The caller's thread is one of a few that all of the process's tasks share, so it must not be held up. A disk that turns slow is
/// noticed at the first work that takes too long, and then another thread waits for it.
final class Shortcut: Sendable {
    /// What takes longer closes it.
    private static let longest = Duration.milliseconds(2)
    /// For so long.
    private static let rest = Duration.seconds(1)

    private let closedUntil = NIOLockedValueBox<ContinuousClock.Instant?>(nil)

    var isOpen: Bool {
        self.closedUntil.withLockedValue { until in
            guard let end = until else { return true }
            guard .now >= end else { return false }
            until = nil
            return true
        }
    }

    /// Does something on this thread, and takes note of how long it took.
    @discardableResult
    func run<T>(_ work: () throws -> T) rethrows -> T {
        let start = ContinuousClock.now
        defer {
            let end = ContinuousClock.now
            if end - start > Self.longest { self.closedUntil.withLockedValue { $0 = end + Self.rest } }
        }
        return try work()
    }
}
