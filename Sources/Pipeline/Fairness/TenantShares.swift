import PushModel

/// The permits that each tenant, an app, holds of a limiter, and the slow tenants.
struct TenantShares {
    private struct Share {
        /// Permits.
        var held = 0
        /// When its work that is under way began.
        var running: [ContinuousClock.Instant] = []
        /// Its last work took long: it counts as slow until then.
        var slowUntil: ContinuousClock.Instant?
    }

    private var shares: [AppID: Share] = [:]
    private let slowAfter: Duration

    /// How long it counts as slow after that.
    private static let memory = Duration.seconds(60)

    /// - Parameter slowAfter: A tenant is slow while its work takes longer than this.
    init(slowAfter: Duration) { self.slowAfter = slowAfter }

    func held(by tenant: AppID) -> Int { self.shares[tenant]?.held ?? 0 }

    func isSlow(_ tenant: AppID, now: ContinuousClock.Instant) -> Bool {
        self.shares[tenant].map { self.isSlow($0, now: now) } ?? false
    }

    /// Whether nothing of the tenant is under way, and its work does not take long.
    func isIdle(_ tenant: AppID?, now: ContinuousClock.Instant) -> Bool {
        guard let tenant else { return false }
        guard let share = self.shares[tenant] else { return true }
        return share.running.isEmpty && !self.isSlow(share, now: now)
    }

    /// Slow tenants share half of the permits; each may have one piece of work under way as far as that goes.
    func mayAcquire(_ tenant: AppID, cost: Int, permits: Int, now: ContinuousClock.Instant) -> Bool {
        guard self.isSlow(tenant, now: now) else { return true }
        let slow = self.shares.values.reduce(0) { $0 + (self.isSlow($1, now: now) ? $1.held : 0) }
        return slow == 0 || slow + cost <= permits / 2
    }

    mutating func acquire(_ tenant: AppID, since: ContinuousClock.Instant, cost: Int) {
        // Names come from messages: idle tenants are dropped before they fill the memory.
        if self.shares.count >= 10_000 { self.shares = self.shares.filter { !$0.value.running.isEmpty } }
        self.shares[tenant, default: Share()].held += cost
        self.shares[tenant, default: Share()].running.append(since)
    }

    mutating func release(_ tenant: AppID, since: ContinuousClock.Instant, cost: Int) {
        guard var share = self.shares[tenant] else { return }
        let now = ContinuousClock.now
        share.held -= cost
        if let index = share.running.firstIndex(of: since) { share.running.remove(at: index) }
        share.slowUntil = since.duration(to: now) >= self.slowAfter ? now.advanced(by: Self.memory) : nil
        self.shares[tenant] = share.running.isEmpty && share.slowUntil == nil ? nil : share
    }

    private func isSlow(_ share: Share, now: ContinuousClock.Instant) -> Bool {
        if let until = share.slowUntil, now < until { return true }
        return share.running.contains { $0.duration(to: now) >= self.slowAfter }
    }
}
