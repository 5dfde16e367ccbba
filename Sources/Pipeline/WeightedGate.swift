import NIOConcurrencyHelpers
package import PushModel

/// Bounds how much a worker does at once, and shares the places between priorities by their weights (rule 12).
///
/// Work may take several places: a batch of a thousand devices is not one of a single device. One entrance beyond the places is
/// kept for ``Priority/high``, so that urgent work finds room while a campaign fills the rest. Who asks for the whole gate is
/// alone in it (rule 5).
package final class WeightedGate: Sendable {
    /// Where someone stands inside; it is given back with ``leave(_:)``.
    enum Place: Equatable {
        case ordinary(Int)
        /// The entrance beyond the places, for urgent work.
        case reserved
        case whole
    }

    private typealias Entrance = CheckedContinuation<Place, any Error>

    private struct Waiter {
        let id: UInt64
        let cost: Int
        let entrance: Entrance
    }

    private struct State {
        var taken = 0
        var isReservedTaken = false
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

    /// - Parameter places: How many there are, at least 1.
    package init(places: Int) {
        precondition(places > 0, "a gate without places would never open")
        self.places = places
    }

    /// Runs `body` in a place of the gate.
    ///
    /// - Throws: `CancellationError` when the task is cancelled while it waits; whatever `body` throws.
    package func withPlace<Result>(_ priority: Priority, _ body: () async throws -> Result) async throws -> Result {
        let place = try await self.enter(priority, cost: 1)
        defer { self.leave(place) }
        return try await body()
    }

    /// Runs `body` with nobody else in the gate.
    package func alone<Result>(_ body: () async throws -> Result) async throws -> Result {
        let place = try await self.enter(nil, cost: self.places)
        defer { self.leave(place) }
        return try await body()
    }

    /// Waits for room and takes it; ``leave(_:)`` gives it back.
    ///
    /// - Parameters:
    ///   - priority: nil = the whole gate.
    ///   - cost: How many places; more than there are counts as all.
    /// - Returns: What to give back.
    /// - Throws: `CancellationError` when the task is cancelled while it waits.
    func enter(_ priority: Priority?, cost: Int) async throws -> Place {
        let id = self.state.withLockedValue { state in
            state.nextID += 1
            return state.nextID
        }
        let place = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (entrance: Entrance) in
                let admitted = self.state.withLockedValue { state -> [(Entrance, Place)]? in
                    guard state.cancelled.remove(id) == nil else { return nil }
                    let waiter = Waiter(id: id, cost: min(max(1, cost), self.places), entrance: entrance)
                    if let priority {
                        state.waiting[priority, default: []].append(waiter)
                    } else {
                        state.exclusive.append(waiter)
                    }
                    return self.admit(&state)
                }
                guard let admitted else { return entrance.resume(throwing: CancellationError()) }
                for (entrance, place) in admitted { entrance.resume(returning: place) }
            }
        } onCancel: {
            let withdrawn = self.state.withLockedValue { state in Self.withdraw(id, from: &state) }
            withdrawn?.resume(throwing: CancellationError())
        }
        // A cancellation that came after admission leaves its mark behind: the place is the caller's all the same.
        self.state.withLockedValue { _ = $0.cancelled.remove(id) }
        return place
    }

    func leave(_ place: Place) {
        let admitted = self.state.withLockedValue { state in
            switch place {
            case .ordinary(let cost): state.taken -= cost
            case .reserved: state.isReservedTaken = false
            case .whole: state.isExclusive = false
            }
            return self.admit(&state)
        }
        for (entrance, place) in admitted { entrance.resume(returning: place) }
    }

    /// Lets in whoever may come in now.
    private func admit(_ state: inout State) -> [(Entrance, Place)] {
        guard !state.isExclusive else { return [] }
        if !state.exclusive.isEmpty {
            // Nobody comes in before the one who wants to be alone; he comes in when all have left.
            guard state.taken == 0, !state.isReservedTaken else { return [] }
            state.isExclusive = true
            return [(state.exclusive.removeFirst().entrance, .whole)]
        }
        var admitted: [(Entrance, Place)] = []
        while let priority = self.nextPriority(&state), let first = state.waiting[priority]?.first,
            state.taken + first.cost <= self.places
        {
            state.waiting[priority]?.removeFirst()
            state.credit[priority, default: 0] -= 1
            state.taken += first.cost
            admitted.append((first.entrance, .ordinary(first.cost)))
        }
        if !state.isReservedTaken, state.waiting[.high]?.isEmpty == false,
            let waiter = state.waiting[.high]?.removeFirst()
        {
            state.isReservedTaken = true
            admitted.append((waiter.entrance, .reserved))
        }
        return admitted
    }

    /// Whose turn it is: most urgent first, each at most its weight a round; nil when nobody waits.
    private func nextPriority(_ state: inout State) -> Priority? {
        let candidates = Priority.allCases.filter { state.waiting[$0]?.isEmpty == false }
        if let chosen = candidates.first(where: { (state.credit[$0] ?? 0) > 0 }) { return chosen }
        // Those who wait have used up their turns: a new round begins.
        for priority in Priority.allCases { state.credit[priority] = priority.weight }
        return candidates.first
    }

    private static func withdraw(_ id: UInt64, from state: inout State) -> Entrance? {
        if let index = state.exclusive.firstIndex(where: { $0.id == id }) {
            return state.exclusive.remove(at: index).entrance
        }
        for priority in Priority.allCases {
            if let index = state.waiting[priority]?.firstIndex(where: { $0.id == id }) {
                return state.waiting[priority]?.remove(at: index).entrance
            }
        }
        state.cancelled.insert(id)
        return nil
    }
}
