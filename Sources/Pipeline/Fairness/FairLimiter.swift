import NIOConcurrencyHelpers
package import PushModel

/// Bounds how much a worker does at once, and shares the permits between priorities by their weights and between tenants, the
/// apps, evenly (rule 12).
///
/// Work may cost several permits: a batch of a thousand devices is not one of a single device. Beyond the permits there is a
/// reserved slot for ``Priority/high``, so that urgent work never waits behind a campaign, and one for a tenant of which nothing is
/// under way. Tenants whose work takes long share half of the permits: their push service is silent, or they wait for it.
///
/// Work that was redelivered twice is exclusive: no permit and no idle tenant's slot is held beside it, for it may be what ended its
/// workers (rule 5). Urgent work that comes for the first time does not wait for it, in the slot reserved for it.
package final class FairLimiter: Sendable {
    /// The right to run; it is returned with ``release(_:)``.
    struct Permit: Equatable {
        enum Kind: Equatable {
            case ordinary(Int)
            /// The slot beyond the permits for urgent work.
            case urgent
            /// The slot beyond the permits for a tenant of which nothing is under way.
            case idleTenant
            case exclusive
        }

        let kind: Kind
        fileprivate let tenant: AppID?
        fileprivate let since: ContinuousClock.Instant
    }

    /// The tenant's work takes long, and enough of it waits: this is to be deferred.
    struct Rejection: Error {}

    private typealias Continuation = CheckedContinuation<Permit, any Error>

    private struct Waiter {
        let id: UInt64
        let cost: Int
        let tenant: AppID?
        let isRedelivered: Bool
        let continuation: Continuation
    }

    private struct State {
        var held = 0
        var isUrgentSlotHeld = false
        var isIdleSlotHeld = false
        var isExclusiveHeld = false
        var nextID: UInt64 = 0
        var waiting: [Priority: [Waiter]] = [:]
        var exclusive: [Priority: [Waiter]] = [:]
        /// The permits that each priority may still acquire in this round.
        var credit: [Priority: Int] = [:]
        /// Waiters cancelled before they were stored.
        var cancelled: Set<UInt64> = []
        var shares: TenantShares

        /// The most urgent priority with an exclusive waiter.
        var firstExclusive: Priority? { Priority.allCases.first { self.exclusive[$0]?.isEmpty == false } }
    }

    private let permits: Int
    private let state: NIOLockedValueBox<State>

    /// From this many redeliveries on work is exclusive: one alone mostly means that a connection was lost, and then all that was
    /// under way comes again at once.
    static let exclusiveRedeliveries = 2
    /// The most waiters of a slow tenant: enough to use its share.
    private static let fewWaiting = 2

    /// - Parameters:
    ///   - permits: How many there are, at least 1.
    ///   - slowAfter: A tenant is slow whose work takes longer than this; nil = none is.
    package init(permits: Int, slowAfter: Duration? = .seconds(3)) {
        precondition(permits > 0, "a limiter without permits would never let anyone pass")
        self.permits = permits
        self.state = NIOLockedValueBox(State(shares: TenantShares(slowAfter: slowAfter)))
    }

    /// Runs `body` with a permit.
    ///
    /// - Parameters:
    ///   - priority: Of the work.
    ///   - tenant: Whose work it is; nil = it is shared with nobody.
    ///   - body: The work.
    /// - Returns: What `body` returns.
    /// - Throws: `CancellationError` when the task is cancelled while it waits; ``Rejection``; whatever `body` throws.
    package func withPermit<Result>(
        _ priority: Priority,
        tenant: AppID? = nil,
        _ body: () async throws -> Result
    ) async throws -> Result {
        let permit = try await self.acquire(priority, tenant: tenant)
        defer { self.release(permit) }
        return try await body()
    }

    /// Runs `body` exclusively.
    ///
    /// - Throws: As ``withPermit(_:tenant:_:)``.
    package func exclusively<Result>(_ priority: Priority, _ body: () async throws -> Result) async throws -> Result {
        let permit = try await self.acquire(priority, redeliveries: Self.exclusiveRedeliveries)
        defer { self.release(permit) }
        return try await body()
    }

    /// Waits for a permit; ``release(_:)`` gives it back.
    ///
    /// - Parameters:
    ///   - priority: Of the work.
    ///   - cost: The number of permits; more than the limit counts as all.
    ///   - tenant: The tenant; nil = the work is shared with no tenant.
    ///   - redeliveries: The number of earlier deliveries.
    /// - Returns: The permit.
    /// - Throws: `CancellationError` when the task is cancelled while it waits; ``Rejection``.
    func acquire(
        _ priority: Priority,
        cost: Int = 1,
        tenant: AppID? = nil,
        redeliveries: Int = 0
    ) async throws -> Permit {
        let id = self.state.withLockedValue { state in
            state.nextID += 1
            return state.nextID
        }
        let permit = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: Continuation) in
                let waiter = Waiter(
                    id: id,
                    cost: min(max(1, cost), self.permits),
                    tenant: tenant,
                    isRedelivered: redeliveries > 0,
                    continuation: continuation
                )
                self.enqueue(waiter, priority, isExclusive: redeliveries >= Self.exclusiveRedeliveries)
            }
        } onCancel: {
            let withdrawn = self.state.withLockedValue { state in Self.withdraw(id, from: &state) }
            withdrawn?.resume(throwing: CancellationError())
        }
        // A cancellation that came after admission leaves its mark behind: the permit is the caller's all the same.
        self.state.withLockedValue { _ = $0.cancelled.remove(id) }
        return permit
    }

    func release(_ permit: Permit) {
        let admitted = self.state.withLockedValue { state in
            switch permit.kind {
            case .ordinary(let cost): state.held -= cost
            case .urgent: state.isUrgentSlotHeld = false
            case .idleTenant: state.isIdleSlotHeld = false
            case .exclusive: state.isExclusiveHeld = false
            }
            if let tenant = permit.tenant {
                state.shares.release(tenant, since: permit.since, cost: permit.kind.cost)
            }
            return self.admit(&state)
        }
        for (continuation, permit) in admitted { continuation.resume(returning: permit) }
    }

    /// Rejects waiters of tenants that have become slow: they delay the waiters behind them.
    func rejectQueuedBehindSlowTenants() {
        let rejected = self.state.withLockedValue { Self.takeRejected(&$0) }
        for continuation in rejected { continuation.resume(throwing: Rejection()) }
    }
}

// MARK: Under the lock

extension FairLimiter {
    private func enqueue(_ waiter: Waiter, _ priority: Priority, isExclusive: Bool) {
        let result = self.state.withLockedValue {
            state -> (admitted: [(Continuation, Permit)], rejected: [Continuation])? in
            guard state.cancelled.remove(waiter.id) == nil else { return nil }
            if isExclusive {
                state.exclusive[priority, default: []].append(waiter)
            } else {
                state.waiting[priority, default: []].append(waiter)
            }
            return (self.admit(&state), Self.takeRejected(&state))
        }
        guard let result else { return waiter.continuation.resume(throwing: CancellationError()) }
        for (continuation, permit) in result.admitted { continuation.resume(returning: permit) }
        for continuation in result.rejected { continuation.resume(throwing: Rejection()) }
    }

    /// Takes out those of slow tenants that wait behind a few of the same tenant.
    private static func takeRejected(_ state: inout State) -> [Continuation] {
        let now = ContinuousClock.now
        var counts: [AppID: Int] = [:]
        var rejected: [Continuation] = []
        for priority in Priority.allCases {
            state.waiting[priority]?.removeAll { waiter in
                guard let tenant = waiter.tenant, state.shares.isSlow(tenant, now: now) else { return false }
                counts[tenant, default: 0] += 1
                guard counts[tenant, default: 0] > Self.fewWaiting else { return false }
                rejected.append(waiter.continuation)
                return true
            }
        }
        return rejected
    }

    /// Admits all waiters that may run now.
    private func admit(_ state: inout State) -> [(Continuation, Permit)] {
        let now = ContinuousClock.now
        var admitted: [(Continuation, Permit)] = []
        func admit(_ index: Int, of priority: Priority, as kind: Permit.Kind) {
            guard let waiter = state.waiting[priority]?.remove(at: index) else { return }
            if let tenant = waiter.tenant { state.shares.acquire(tenant, since: now, cost: kind.cost) }
            admitted.append((waiter.continuation, Permit(kind: kind, tenant: waiter.tenant, since: now)))
        }
        if let exclusive = self.admitExclusive(&state, now: now) { admitted.append(exclusive) }
        let isClosed = state.isExclusiveHeld || state.firstExclusive != nil
        while !isClosed, let (priority, index) = self.next(&state, now: now),
            let cost = state.waiting[priority]?[index].cost, state.held + cost <= self.permits
        {
            state.credit[priority, default: 0] -= 1
            state.held += cost
            admit(index, of: priority, as: .ordinary(cost))
        }
        if !state.isUrgentSlotHeld, let index = self.candidate(.high, in: state, onlyNew: isClosed, now: now) {
            state.isUrgentSlotHeld = true
            admit(index, of: .high, as: .urgent)
        }
        for priority in Priority.allCases where !isClosed && !state.isIdleSlotHeld {
            guard let index = state.waiting[priority]?.firstIndex(where: { state.shares.isIdle($0.tenant, now: now) })
            else { continue }
            state.isIdleSlotHeld = true
            admit(index, of: priority, as: .idleTenant)
        }
        return admitted
    }

    /// Admits the most urgent exclusive waiter, once all incompatible permits are released.
    private func admitExclusive(
        _ state: inout State,
        now: ContinuousClock.Instant
    ) -> (Continuation, Permit)? {
        guard !state.isExclusiveHeld, state.held == 0, !state.isIdleSlotHeld, let priority = state.firstExclusive,
            let waiter = state.exclusive[priority]?.removeFirst()
        else { return nil }
        state.isExclusiveHeld = true
        return (waiter.continuation, Permit(kind: .exclusive, tenant: nil, since: now))
    }

    /// The next waiter: most urgent first, each priority at most its weight a round; nil without an admissible one.
    private func next(_ state: inout State, now: ContinuousClock.Instant) -> (Priority, Int)? {
        let candidates = Priority.allCases.compactMap { priority in
            self.candidate(priority, in: state, now: now).map { (priority, $0) }
        }
        if let chosen = candidates.first(where: { (state.credit[$0.0] ?? 0) > 0 }) { return chosen }
        // Those who wait have used up their turns: a new round begins.
        for priority in Priority.allCases { state.credit[priority] = priority.weight }
        return candidates.first
    }

    /// The first of a priority, of the tenant that holds least.
    private func candidate(
        _ priority: Priority,
        in state: State,
        onlyNew: Bool = false,
        now: ContinuousClock.Instant
    ) -> Int? {
        guard let waiting = state.waiting[priority] else { return nil }
        var best: (index: Int, held: Int)?
        for (index, waiter) in waiting.enumerated() where !(onlyNew && waiter.isRedelivered) {
            guard let tenant = waiter.tenant else { return best?.index ?? index }
            let held = state.shares.held(by: tenant)
            if let best, best.held <= held { continue }
            guard state.shares.mayAcquire(tenant, cost: waiter.cost, permits: self.permits, now: now) else { continue }
            best = (index, held)
        }
        return best?.index
    }

    private static func withdraw(_ id: UInt64, from state: inout State) -> Continuation? {
        for priority in Priority.allCases {
            if let index = state.waiting[priority]?.firstIndex(where: { $0.id == id }) {
                return state.waiting[priority]?.remove(at: index).continuation
            }
            if let index = state.exclusive[priority]?.firstIndex(where: { $0.id == id }) {
                return state.exclusive[priority]?.remove(at: index).continuation
            }
        }
        state.cancelled.insert(id)
        return nil
    }
}

extension FairLimiter.Permit.Kind {
    /// How many of the limiter's permits it takes.
    fileprivate var cost: Int {
        switch self {
        case .ordinary(let cost): cost
        case .urgent, .idleTenant, .exclusive: 0
        }
    }
}
