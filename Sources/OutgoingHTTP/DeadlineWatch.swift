import NIOConcurrencyHelpers

/// Ends waits at their deadlines, whatever becomes of what is waited for.
///
/// A library that forgets an answer, or does not hear that it is cancelled, holds nobody longer: the caller goes on, and the rest
/// is left to itself. It depends on no library's timers.
package final class DeadlineWatch: Sendable {
    /// For the exchanges of a process.
    package static let shared = DeadlineWatch()
    /// How long what was cancelled at its deadline may take to end by itself.
    package static let grace = Duration.milliseconds(250)

    /// How often it looks; as late as this it may be.
    private static let step = Duration.milliseconds(50)

    private struct Entry {
        let deadline: ContinuousClock.Instant
        let expire: @Sendable () -> Void
    }

    private struct State {
        var entries: [Int: Entry] = [:]
        var numbers = 0
        var isLooking = false
        /// No entry stands longer.
        var limit: ContinuousClock.Instant?

        mutating func takeDue(_ now: ContinuousClock.Instant) -> [Entry] {
            let due = self.entries.filter { min($0.value.deadline, self.limit ?? $0.value.deadline) <= now }
            for number in due.keys { self.entries[number] = nil }
            return Array(due.values)
        }
    }

    private let state = NIOLockedValueBox(State())

    package init() {}

    /// Has something happen at a deadline.
    ///
    /// - Parameters:
    ///   - deadline: When.
    ///   - expire: What; it must not block.
    /// - Returns: A number for ``remove(_:)``.
    func add(_ deadline: ContinuousClock.Instant, _ expire: @escaping @Sendable () -> Void) -> Int {
        let (number, isFirst) = self.state.withLockedValue { state in
            state.numbers += 1
            state.entries[state.numbers] = Entry(deadline: deadline, expire: expire)
            defer { state.isLooking = true }
            return (state.numbers, !state.isLooking)
        }
        if isFirst { Task.detached { await self.look() } }
        return number
    }

    /// Forgets a deadline; one that has passed was forgotten before.
    func remove(_ number: Int) { self.state.withLockedValue { _ = $0.entries.removeValue(forKey: number) } }

    /// Lets no wait last longer than until then, whatever its own deadline: those under way, and later ones.
    package func limit(to deadline: ContinuousClock.Instant) {
        self.state.withLockedValue { $0.limit = min($0.limit ?? deadline, deadline) }
    }

    /// Looks for deadlines that have passed, while there are any to come.
    private func look() async {
        while true {
            // Nobody cancels it.
            try? await Task.sleep(for: Self.step)
            let due: [Entry]? = self.state.withLockedValue { state in
                guard state.entries.isEmpty else { return state.takeDue(.now) }
                state.isLooking = false
                return nil
            }
            guard let due else { return }
            for entry in due { entry.expire() }
        }
    }

    /// Runs a body, and waits for it until a deadline: then it is cancelled, and a moment later left to itself.
    ///
    /// - Parameters:
    ///   - deadline: The deadline.
    ///   - grace: The moment.
    ///   - body: Is cancelled also when the caller is.
    /// - Returns: What the body returns; nil = it was left to itself, and may go on.
    package func run<Value: Sendable>(
        until deadline: ContinuousClock.Instant,
        grace: Duration = DeadlineWatch.grace,
        _ body: @escaping @Sendable () async -> Value
    ) async -> Value? {
        let answer = OneAnswer<Value?>()
        let task = Task { answer.give(await body()) }
        let number = self.add(deadline) {
            task.cancel()
            guard grace > .zero else { return answer.give(nil) }
            _ = self.add(.now + grace) { answer.give(nil) }
        }
        let value = await withTaskCancellationHandler {
            await answer.value
        } onCancel: {
            task.cancel()
        }
        self.remove(number)
        return value
    }
}

/// A value that one waits for, and the first of several gives.
final class OneAnswer<Value: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Value, Never>)
        case given(Value)
    }

    private let state = NIOLockedValueBox(State.open)

    /// Whatever is given first; only one may wait.
    var value: Value {
        get async {
            await withCheckedContinuation { continuation in
                let given: Value? = self.state.withLockedValue { state in
                    if case .given(let value) = state { return value }
                    state = .awaited(continuation)
                    return nil
                }
                if let given { continuation.resume(returning: given) }
            }
        }
    }

    func give(_ value: Value) {
        let waiting: CheckedContinuation<Value, Never>? = self.state.withLockedValue { state in
            switch state {
            case .given: return nil
            case .open:
                state = .given(value)
                return nil
            case .awaited(let continuation):
                state = .given(value)
                return continuation
            }
        }
        waiting?.resume(returning: value)
    }
}
