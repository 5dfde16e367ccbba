import Dispatch
import NIOConcurrencyHelpers
import PushModel

/// Ends overdue work, with one timer for all: a task per request would cost as much as a small answer.
final class RequestTimeouts: Sendable {
    /// The work was ended at its deadline.
    struct Overdue: Error {}

    private struct State {
        var next = 0
        var running: [Int: Work] = [:]
        var isTicking = false
    }

    /// Work under way.
    private struct Work {
        var deadline: ContinuousClock.Instant
        let end: @Sendable () -> Void
    }

    private let limit: Duration
    private let queue = DispatchQueue(label: "pushline.deadlines")
    private let state = NIOLockedValueBox(State())

    /// - Parameter limit: How long work may take; it is ended by an eighth of that later.
    init(limit: Duration) { self.limit = limit }

    /// Runs the work, and ends it when its time is over.
    ///
    /// - Parameters:
    ///   - work: The work; its argument is a number for ``extend(_:by:)``.
    ///   - end: Makes the work end soon, in any way; called at most once, on another thread.
    /// - Returns: The work's result.
    /// - Throws: The work's error or ``Overdue``, after the work has ended.
    func run<Value>(_ work: (Int) async throws -> Value, end: @escaping @Sendable () -> Void) async throws -> Value {
        let (id, mustTick) = self.state.withLockedValue { state in
            state.next += 1
            state.running[state.next] = Work(deadline: .now + self.limit, end: end)
            defer { state.isTicking = true }
            return (state.next, !state.isTicking)
        }
        if mustTick { self.tick() }
        let result: Result<Value, any Error>
        do { result = .success(try await work(id)) } catch { result = .failure(error) }
        let isInTime = self.state.withLockedValue { $0.running.removeValue(forKey: id) != nil }
        // A stream that is ended may look as if that was all: half a body is none.
        guard isInTime else { throw Overdue() }
        try Task.checkCancellation()
        return try result.get()
    }

    /// Puts the deadline of work under way off, and never further than to where it would be if the work began now.
    func extend(_ id: Int, by time: Duration) {
        self.state.withLockedValue { state in
            guard let deadline = state.running[id]?.deadline else { return }
            state.running[id]?.deadline = min(deadline + time, .now + self.limit)
        }
    }

    /// Looks again in a while, as long as anything is under way.
    private func tick() {
        self.queue.asyncAfter(deadline: .now() + self.limit.inSeconds / 8) {
            let now = ContinuousClock.now
            let (overdue, isOver) = self.state.withLockedValue { state in
                var overdue: [@Sendable () -> Void] = []
                for (id, work) in state.running where work.deadline <= now {
                    overdue.append(work.end)
                    state.running[id] = nil
                }
                state.isTicking = !state.running.isEmpty
                return (overdue, !state.isTicking)
            }
            for end in overdue { end() }
            if !isOver { self.tick() }
        }
    }
}
