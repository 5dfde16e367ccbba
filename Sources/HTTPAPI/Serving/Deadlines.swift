import Dispatch
import NIOConcurrencyHelpers
import PushModel

/// Ends work that takes too long, with one timer for all: a sleeping task beside each small request costs as much as the request.
final class Deadlines: Sendable {
    /// The work was cancelled at its deadline.
    struct Overdue: Error {}

    private struct State {
        var next = 0
        var running: [Int: Work] = [:]
        var isTicking = false
    }

    /// Work under way.
    private struct Work {
        let end: ContinuousClock.Instant
        let cancel: @Sendable () -> Void
    }

    private let limit: Duration
    private let queue = DispatchQueue(label: "pushline.deadlines")
    private let state = NIOLockedValueBox(State())

    /// - Parameter limit: How long work may take; it is ended by an eighth of that later.
    init(limit: Duration) { self.limit = limit }

    /// Does the work, and cancels it when its time is over.
    ///
    /// - Throws: What the work throws, or ``Overdue``; in any case after the work has ended.
    func run<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let task = Task { try await work() }
        let (id, mustTick) = self.state.withLockedValue { state in
            state.next += 1
            state.running[state.next] = Work(end: .now + self.limit) { task.cancel() }
            defer { state.isTicking = true }
            return (state.next, !state.isTicking)
        }
        if mustTick { self.tick() }
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        let isInTime = self.state.withLockedValue { $0.running.removeValue(forKey: id) != nil }
        // A stream that is cancelled may just end: half a body is none.
        guard isInTime else { throw Overdue() }
        try Task.checkCancellation()
        return try result.get()
    }

    /// Looks again in a while, as long as anything is under way.
    private func tick() {
        self.queue.asyncAfter(deadline: .now() + self.limit.inSeconds / 8) {
            let now = ContinuousClock.now
            let (overdue, isOver) = self.state.withLockedValue { state in
                var overdue: [@Sendable () -> Void] = []
                for (id, work) in state.running where work.end <= now {
                    overdue.append(work.cancel)
                    state.running[id] = nil
                }
                state.isTicking = !state.running.isEmpty
                return (overdue, !state.isTicking)
            }
            for cancel in overdue { cancel() }
            if !isOver { self.tick() }
        }
    }
}
