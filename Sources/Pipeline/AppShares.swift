import PushModel

/// What each app has inside a gate, and whose work takes long.
struct AppShares {
    private struct Share {
        /// Places.
        var taken = 0
        /// When its work that is inside began.
        var inside: [ContinuousClock.Instant] = []
        /// Its last work took long: so long it counts as slow.
        var slowUntil: ContinuousClock.Instant?
    }

    private var shares: [AppID: Share] = [:]
    private let slowAfter: Duration

    /// How long it counts as slow after that.
    private static let memory = Duration.seconds(60)

    /// - Parameter slowAfter: An app is slow while its work takes longer than this.
    init(slowAfter: Duration) { self.slowAfter = slowAfter }

    func taken(by app: AppID) -> Int { self.shares[app]?.taken ?? 0 }

    func isSlow(_ app: AppID, now: ContinuousClock.Instant) -> Bool {
        self.shares[app].map { self.isSlow($0, now: now) } ?? false
    }

    /// Whether nothing of the app is inside, and its work does not take long.
    func isStranger(_ app: AppID?, now: ContinuousClock.Instant) -> Bool {
        guard let app else { return false }
        guard let share = self.shares[app] else { return true }
        return share.inside.isEmpty && !self.isSlow(share, now: now)
    }

    /// Slow apps share half of the places; each may have one thing inside as far as that goes.
    func mayEnter(_ app: AppID, cost: Int, places: Int, now: ContinuousClock.Instant) -> Bool {
        guard self.isSlow(app, now: now) else { return true }
        let slow = self.shares.values.reduce(0) { $0 + (self.isSlow($1, now: now) ? $1.taken : 0) }
        return slow == 0 || slow + cost <= places / 2
    }

    mutating func enter(_ app: AppID, since: ContinuousClock.Instant, cost: Int) {
        // Names come from messages: what is not inside is forgotten before a flood of them fills the memory.
        if self.shares.count >= 10_000 { self.shares = self.shares.filter { !$0.value.inside.isEmpty } }
        self.shares[app, default: Share()].taken += cost
        self.shares[app, default: Share()].inside.append(since)
    }

    mutating func leave(_ app: AppID, since: ContinuousClock.Instant, cost: Int) {
        guard var share = self.shares[app] else { return }
        let now = ContinuousClock.now
        share.taken -= cost
        if let index = share.inside.firstIndex(of: since) { share.inside.remove(at: index) }
        share.slowUntil = since.duration(to: now) >= self.slowAfter ? now.advanced(by: Self.memory) : nil
        self.shares[app] = share.inside.isEmpty && share.slowUntil == nil ? nil : share
    }

    private func isSlow(_ share: Share, now: ContinuousClock.Instant) -> Bool {
        if let until = share.slowUntil, now < until { return true }
        return share.inside.contains { $0.duration(to: now) >= self.slowAfter }
    }
}
