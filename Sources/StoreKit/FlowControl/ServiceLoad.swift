package import PushModel
package import Store

/// What an app has at a push service at one priority.
package struct ServiceLoad {
    /// Whether its deliveries there are paused.
    package let isPaused: Bool
    /// Its delivery messages that are published or deferred.
    package let messages: Int
    /// The devices in them.
    package let devices: Int
    package let limits: RateLimits

    package init(isPaused: Bool = false, messages: Int = 0, devices: Int = 0, limits: RateLimits = RateLimits()) {
        self.isPaused = isPaused
        self.messages = messages
        self.devices = devices
        self.limits = limits
    }
}

/// The rate limits of an app at a push service, by credential (rule 12); none where no credential has one.
package struct RateLimits {
    /// nil for a credential without one, beside others that have one.
    private let limits: [CredentialName: GCRA?]
    /// The store's clock, in nanoseconds.
    private let now: Int64

    package init() { (self.limits, self.now) = ([:], 0) }

    /// - Parameters:
    ///   - rows: Each credential's rate, 0 = none, and up to when it is used up.
    ///   - now: The store's clock, in milliseconds.
    package init(_ rows: [(credential: CredentialName, rate: Int, tat: Int64)], now: Int64) {
        let nanoseconds = now * 1_000_000
        self.now = nanoseconds
        self.limits = Dictionary(
            uniqueKeysWithValues: rows.map { row in
                (row.credential, row.rate == 0 ? nil : GCRA(rate: row.rate, tat: row.tat, now: nanoseconds))
            }
        )
    }

    package var isEmpty: Bool { self.limits.isEmpty }

    /// Whether it matters which credential a device has.
    package var areSeveral: Bool { self.limits.count > 1 }

    /// Whether each credential has one: one without uses what the window leaves.
    var areOfAll: Bool { self.limits.values.allSatisfy { $0 != nil } }

    /// How many devices a second all of them let through.
    var rate: Int { self.limits.values.reduce(0) { $0 + Int($1?.rate ?? 0) } }

    /// What each limit leaves.
    func credit(_ kind: CreditKind, _ priority: Priority) -> [CredentialName: CredentialCredit] {
        self.limits.compactMapValues { limit in limit.map { self.credit(of: $0, kind, priority) } }
    }

    private func credit(of limit: GCRA, _ kind: CreditKind, _ priority: Priority) -> CredentialCredit {
        // Retries may exceed the rate: fan-outs would otherwise consume all of it.
        let isUrgent = priority == .high || kind == .retry
        var free = limit.devices(at: self.now, isUrgent: isUrgent)
        // Where campaigns have left nothing, small sends pass them.
        if free == 0, kind == .first { free = limit.devices(at: self.now, isUrgent: true) }
        guard free == 0 else { return CredentialCredit(devices: free) }
        let wait = limit.wait(at: self.now, isUrgent: isUrgent || kind == .first)
        return CredentialCredit(devices: 0, wait: .nanoseconds(wait))
    }

    /// Counts devices.
    ///
    /// - Parameters:
    ///   - devices: The number of devices.
    ///   - kind: First pages may exceed a limit for a moment; retries go in any case, and what is too much is waited for later.
    ///   - priority: Urgent ones may exceed it for a moment too.
    /// - Returns: Up to when each limit that they count for is used up then; nil if there is no credit for them.
    package func spend(_ devices: DeviceCount, _ kind: CreditKind, _ priority: Priority) -> [CredentialName: Int64]? {
        let mayGoAhead = priority == .high || kind == .first
        var spent: [CredentialName: Int64] = [:]
        for case (let credential, var limit?) in self.limits where devices[credential] > 0 {
            let free = limit.devices(at: self.now, isUrgent: mayGoAhead)
            guard kind == .retry || free >= devices[credential] else { return nil }
            limit.take(devices[credential], at: self.now)
            spent[credential] = limit.tat
        }
        return spent
    }

    /// How long retries wait whose devices have a credential without credit; nil = they may go.
    ///
    /// Only where there are several: those behind them may have another credential.
    package func wait(ofRetry devices: DeviceCount, _ priority: Priority) -> Duration? {
        guard self.areSeveral else { return nil }
        let waits = self.credit(.retry, priority).compactMap { credential, credit in
            devices[credential] > 0 && credit.devices == 0 ? credit.wait ?? .zero : nil
        }
        return waits.max().map { max(.milliseconds(1), $0) }
    }
}
