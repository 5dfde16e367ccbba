import NIOConcurrencyHelpers
package import PushModel

/// Bounds how much a worker does at once, and shares the places between priorities by their weights and between apps evenly
/// (rule 12).
///
/// Work may take several places: a batch of a thousand devices is not one of a single device. Beyond the places there is an
/// entrance for ``Priority/high``, so that urgent work finds room while a campaign fills the rest, and one for an app that has
/// nothing inside. Apps whose work takes long share half of the places: their push service is silent, or they wait for it. Who
/// asks for the whole gate is alone in it (rule 5).
package final class WeightedGate: Sendable {
    /// Where someone stands inside; it is given back with ``leave(_:)``.
    struct Place: Equatable {
        enum Kind: Equatable {
            case ordinary(Int)
            /// The entrance beyond the places, for urgent work.
            case urgent
            /// The entrance beyond the places, for an app that has nothing inside.
            case guest
            case whole
        }

        let kind: Kind
        fileprivate let app: AppID?
        fileprivate let since: ContinuousClock.Instant
    }

    /// The app's work takes long, and there is no room for more of it: it is to be given back.
    struct Refusal: Error {}

    private typealias Entrance = CheckedContinuation<Place, any Error>

    private struct Waiter {
        let id: UInt64
        let cost: Int
        let app: AppID?
        let entrance: Entrance
    }

    private struct State {
        var taken = 0
        var isUrgentTaken = false
        var isGuestTaken = false
        var isExclusive = false
        var nextID: UInt64 = 0
        var waiting: [Priority: [Waiter]] = [:]
        var exclusive: [Waiter] = []
        /// What each priority may still take in this round.
        var credit: [Priority: Int] = [:]
        /// Waiters cancelled before they were stored.
        var cancelled: Set<UInt64> = []
        var shares: AppShares

        var isEmpty: Bool { self.taken == 0 && !self.isUrgentTaken && !self.isGuestTaken }
    }

    private let places: Int
    private let state: NIOLockedValueBox<State>

    /// So many of a slow app may wait: enough to keep its share in use.
    private static let fewWaiting = 2

    /// - Parameters:
    ///   - places: How many there are, at least 1.
    ///   - slowAfter: An app is slow whose work takes longer than this.
    package init(places: Int, slowAfter: Duration = .seconds(3)) {
        precondition(places > 0, "a gate without places would never open")
        self.places = places
        self.state = NIOLockedValueBox(State(shares: AppShares(slowAfter: slowAfter)))
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
    ///   - app: Whose work it is; nil = it is shared with nobody.
    /// - Returns: What to give back.
    /// - Throws: `CancellationError` when the task is cancelled while it waits; ``Refusal``.
    func enter(_ priority: Priority?, cost: Int, app: AppID? = nil) async throws -> Place {
        let id = self.state.withLockedValue { state in
            state.nextID += 1
            return state.nextID
        }
        let place = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (entrance: Entrance) in
                let result = self.state.withLockedValue { state -> (in: [(Entrance, Place)], out: [Entrance])? in
                    guard state.cancelled.remove(id) == nil else { return nil }
                    let cost = min(max(1, cost), self.places)
                    let waiter = Waiter(id: id, cost: cost, app: app, entrance: entrance)
                    if let priority {
                        state.waiting[priority, default: []].append(waiter)
                    } else {
                        state.exclusive.append(waiter)
                    }
                    return (self.admit(&state), Self.excess(&state))
                }
                guard let result else { return entrance.resume(throwing: CancellationError()) }
                for (entrance, place) in result.in { entrance.resume(returning: place) }
                for entrance in result.out { entrance.resume(throwing: Refusal()) }
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
            switch place.kind {
            case .ordinary(let cost): state.taken -= cost
            case .urgent: state.isUrgentTaken = false
            case .guest: state.isGuestTaken = false
            case .whole: state.isExclusive = false
            }
            if let app = place.app { state.shares.leave(app, since: place.since, cost: place.kind.cost) }
            return self.admit(&state)
        }
        for (entrance, place) in admitted { entrance.resume(returning: place) }
    }

    /// Refuses those of apps that have become slow: they hold up what is behind them in the queue.
    func refuse() {
        let refused = self.state.withLockedValue { Self.excess(&$0) }
        for entrance in refused { entrance.resume(throwing: Refusal()) }
    }

    /// Takes out those of slow apps that wait behind a few of the same app.
    private static func excess(_ state: inout State) -> [Entrance] {
        let now = ContinuousClock.now
        var counts: [AppID: Int] = [:]
        var refused: [Entrance] = []
        for priority in Priority.allCases {
            state.waiting[priority]?.removeAll { waiter in
                guard let app = waiter.app, state.shares.isSlow(app, now: now) else { return false }
                counts[app, default: 0] += 1
                guard counts[app, default: 0] > Self.fewWaiting else { return false }
                refused.append(waiter.entrance)
                return true
            }
        }
        return refused
    }

    /// Lets in whoever may come in now.
    private func admit(_ state: inout State) -> [(Entrance, Place)] {
        guard !state.isExclusive else { return [] }
        let now = ContinuousClock.now
        if !state.exclusive.isEmpty {
            // Nobody comes in before the one who wants to be alone; he comes in when all have left.
            guard state.isEmpty else { return [] }
            state.isExclusive = true
            return [(state.exclusive.removeFirst().entrance, Place(kind: .whole, app: nil, since: now))]
        }
        var admitted: [(Entrance, Place)] = []
        func letIn(_ index: Int, of priority: Priority, as kind: Place.Kind) {
            guard let waiter = state.waiting[priority]?.remove(at: index) else { return }
            if let app = waiter.app { state.shares.enter(app, since: now, cost: kind.cost) }
            admitted.append((waiter.entrance, Place(kind: kind, app: waiter.app, since: now)))
        }
        while let (priority, index) = self.next(&state, now: now), let cost = state.waiting[priority]?[index].cost,
            state.taken + cost <= self.places
        {
            state.credit[priority, default: 0] -= 1
            state.taken += cost
            letIn(index, of: priority, as: .ordinary(cost))
        }
        if !state.isUrgentTaken, let index = self.candidate(.high, in: state, now: now) {
            state.isUrgentTaken = true
            letIn(index, of: .high, as: .urgent)
        }
        for priority in Priority.allCases.sorted() where !state.isGuestTaken {
            guard let index = state.waiting[priority]?.firstIndex(where: { state.shares.isStranger($0.app, now: now) })
            else { continue }
            state.isGuestTaken = true
            letIn(index, of: priority, as: .guest)
        }
        return admitted
    }

    /// Whose turn it is: most urgent first, each at most its weight a round; nil when nobody may come in.
    private func next(_ state: inout State, now: ContinuousClock.Instant) -> (Priority, Int)? {
        let candidates = Priority.allCases.compactMap { priority in
            self.candidate(priority, in: state, now: now).map { (priority, $0) }
        }
        if let chosen = candidates.first(where: { (state.credit[$0.0] ?? 0) > 0 }) { return chosen }
        // Those who wait have used up their turns: a new round begins.
        for priority in Priority.allCases { state.credit[priority] = priority.weight }
        return candidates.first
    }

    /// The first of a priority, of the app that has least inside.
    private func candidate(_ priority: Priority, in state: State, now: ContinuousClock.Instant) -> Int? {
        guard let waiting = state.waiting[priority] else { return nil }
        var best: (index: Int, taken: Int)?
        for (index, waiter) in waiting.enumerated() {
            guard let app = waiter.app else { return best?.index ?? index }
            let taken = state.shares.taken(by: app)
            if let best, best.taken <= taken { continue }
            guard state.shares.mayEnter(app, cost: waiter.cost, places: self.places, now: now) else { continue }
            best = (index, taken)
        }
        return best?.index
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

extension WeightedGate.Place.Kind {
    /// How many of the gate's places it takes.
    fileprivate var cost: Int {
        switch self {
        case .ordinary(let cost): cost
        case .urgent, .guest, .whole: 0
        }
    }
}
