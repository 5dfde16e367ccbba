import NIOConcurrencyHelpers
import StoreKit

/// Runs short store work on its caller's thread, as long as that costs about as little as waking another thread.
///
/// The caller's thread belongs to the small pool of all the process's tasks, so only one of them may be blocked by the
/// disk at a time. The first slow operation closes inline execution for a while, and other threads wait for the disk.
final class InlineExecution: Sendable {
    /// The most rows of work that is short.
    static let rows = 16
    /// Slower work closes inline execution.
    static let longest = Duration.milliseconds(2)
    /// The time for which it stays closed.
    private static let pause = Duration.seconds(1)

    private struct State {
        var isTaken = false
        var closedUntil: ContinuousClock.Instant?
    }

    private let state = NIOLockedValueBox(State())

    /// Runs work on this thread, unless another caller does so.
    ///
    /// - Parameter work: The work; its duration is measured.
    /// - Returns: The result; nil if it was not run.
    /// - Throws: The work's error.
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

extension GroupWriter {
    /// How much a change writes.
    enum Size {
        /// ``InlineExecution/rows`` at most: where nothing else is going on, it is committed on its caller's thread.
        case short
        case ordinary
        /// A large write with its own transaction: it delays others, and a savepoint would copy every page it touches.
        case bulk

        static func of(rows: Int) -> Size { rows <= InlineExecution.rows ? .short : .ordinary }
    }
}

extension ReadSize {
    static func of(rows: Int) -> Self { rows <= InlineExecution.rows ? .short : .ordinary }
}
