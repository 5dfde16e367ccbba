import NIOConcurrencyHelpers

/// Has short work of the store done on its caller's thread, while that takes hardly longer than waking another one would.
///
/// The caller's thread is one of a few that all of the process's tasks share, so only one of them is held at a time, whatever the disk
/// does. A disk that turns slow is noticed at the first work that takes too long, and then other threads wait for it.
final class InlineExecution: Sendable {
    /// The most rows of work that is short.
    static let rows = 16
    /// What takes longer closes it.
    static let longest = Duration.milliseconds(2)
    /// For so long.
    private static let pause = Duration.seconds(1)

    private struct State {
        var isTaken = false
        var closedUntil: ContinuousClock.Instant?
    }

    private let state = NIOLockedValueBox(State())

    /// Does something on this thread, where nobody does so already.
    ///
    /// - Parameter work: What is done; what it takes is noted.
    /// - Returns: What it gave; nil when it was not done.
    /// - Throws: What it throws.
    func run<T>(_ work: () throws -> T) rethrows -> T? {
        let start = ContinuousClock.now
        let isOpen = self.state.withLockedValue { state in
            guard !state.isTaken, state.closedUntil.map({ start >= $0 }) ?? true else { return false }
            state.isTaken = true
            return true
        }
        guard isOpen else { return nil }
        defer {
            let end = ContinuousClock.now
            self.state.withLockedValue { state in
                state.isTaken = false
                state.closedUntil = end - start > Self.longest ? end + Self.pause : nil
            }
        }
        return try work()
    }
}
