import NIOConcurrencyHelpers
package import PushModel

/// Bounds how much a worker does at once, and shares the places between priorities by their weights (rule 12).
///
/// One place is kept for ``Priority/high``, so that urgent work finds room while a campaign fills the rest. Who asks for the
/// whole gate is alone in it (rule 5).
package final class WeightedGate: Sendable {
    private struct Waiter {
        let id: UInt64
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var inside = 0
        var isExclusive = false
        var nextID: UInt64 = 0
        var waiting: [Priority: [Waiter]] = [:]
        var exclusive: [Waiter] = []
        /// What each priority may still take in this round.
        var credit: [Priority: Int] = [:]
        /// Waiters cancelled before they were stored.
        var cancelled: Set<UInt64> = []
    }

    private let places: Int
    private let state = NIOLockedValueBox(State())

    /// - Parameter places: How many may be inside at once, at least 1; one more for urgent work.
    package init(places: Int) {
        precondition(places > 0, "a gate without places would never open")
        self.places = places
    }

    /// Runs `body` in a place of the gate.
    ///
    /// - Throws: `CancellationError` when the task is cancelled while it waits; whatever `body` throws.
    package func withPlace<Result>(_ priority: Priority, _ body: () async throws -> Result) async throws -> Result {
        try await self.enter(priority)
        defer { self.leave() }
        return try await body()
    }

    /// Runs `body` with nobody else in the gate.
    package func alone<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await self.enter(nil)
        defer { self.leave(wasExclusive: true) }
        return try await body()
    }

    /// Waits for a place and takes it.
    ///
    /// ``leave(wasExclusive:)`` gives it back. nil = the whole gate.
    func enter(_ priority: Priority?) async throws {
        let id = self.state.withLockedValue { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let resumed = self.state.withLockedValue { state -> [CheckedContinuation<Void, any Error>]? in
                    guard state.cancelled.remove(id) == nil else { return nil }
                    let waiter = Waiter(id: id, continuation: continuation)
                    if let priority {
                        state.waiting[priority, default: []].append(waiter)
                    } else {
                        state.exclusive.append(waiter)
                    }
                    return self.admit(&state)
                }
                guard let resumed else { return continuation.resume(throwing: CancellationError()) }
                for admitted in resumed { admitted.resume() }
            }
        } onCancel: {
            let withdrawn = self.state.withLockedValue { state in Self.withdraw(id, from: &state) }
            withdrawn?.resume(throwing: CancellationError())
        }
        // A cancellation that came after admission leaves its mark behind: the place is the caller's all the same.
        self.state.withLockedValue { _ = $0.cancelled.remove(id) }
    }

    func leave(wasExclusive: Bool = false) {
        let resumed = self.state.withLockedValue { state in
            if wasExclusive { state.isExclusive = false } else { state.inside -= 1 }
            return self.admit(&state)
        }
        for admitted in resumed { admitted.resume() }
    }

    /// Lets in whoever may come in now.
    private func admit(_ state: inout State) -> [CheckedContinuation<Void, any Error>] {
        var admitted: [CheckedContinuation<Void, any Error>] = []
        guard !state.isExclusive else { return admitted }
        if !state.exclusive.isEmpty {
            // Nobody comes in before the one who wants to be alone; he comes in when all have left.
            guard state.inside == 0 else { return admitted }
            state.isExclusive = true
            return [state.exclusive.removeFirst().continuation]
        }
        while let priority = self.nextPriority(&state), var queue = state.waiting[priority], !queue.isEmpty {
            admitted.append(queue.removeFirst().continuation)
            state.waiting[priority] = queue
            state.inside += 1
        }
        return admitted
    }

    /// Whose turn it is: most urgent first, each at most its weight a round; nil when nobody may come in.
    private func nextPriority(_ state: inout State) -> Priority? {
        let candidates = Priority.allCases.filter { state.waiting[$0]?.isEmpty == false }
        guard state.inside < self.places else {
            return state.inside == self.places && candidates.contains(.high) ? .high : nil
        }
        guard !candidates.isEmpty else { return nil }
        if !candidates.contains(where: { (state.credit[$0] ?? 0) > 0 }) {
            for priority in Priority.allCases { state.credit[priority] = priority.weight }
        }
        let chosen = candidates.first { (state.credit[$0] ?? 0) > 0 }
        if let chosen { state.credit[chosen, default: 0] -= 1 }
        return chosen
    }

    private static func withdraw(_ id: UInt64, from state: inout State) -> CheckedContinuation<Void, any Error>? {
        if let index = state.exclusive.firstIndex(where: { $0.id == id }) {
            return state.exclusive.remove(at: index).continuation
        }
        for priority in Priority.allCases {
            if let index = state.waiting[priority]?.firstIndex(where: { $0.id == id }) {
                return state.waiting[priority]?.remove(at: index).continuation
            }
        }
        state.cancelled.insert(id)
        return nil
    }
}
