import GRDB
package import PushModel
package import Store
import StoreKit

/// What may be published now: the in-flight windows of an app and priority, and its rate limit at a push service (rule 12).
struct FlowControl: Sendable {
    let clock: StoreClock
    /// The time at which is looked by the store's clock, in milliseconds.
    let now: Int64
    let window: InFlightWindow

    /// - Parameters:
    ///   - clock: The store's.
    ///   - window: The most that may be in flight.
    ///   - duration: How long ago the time is that counts.
    init(clock: StoreClock, window: InFlightWindow, ago duration: Duration = .zero) {
        self.clock = clock
        self.now = clock.now - duration.milliseconds
        self.window = window
    }

    /// How many messages and devices of an app are in flight to a service at a priority.
    static let inFlight = """
        SELECT count(*), coalesce(sum(size), 0) FROM message
        WHERE app = ? AND queue = ? AND priority = ? AND \(OutboxTable.isInFlight)
        """

    private func inFlight(
        app: Int64,
        pns: PushService,
        priority: Priority,
        in database: Database
    ) throws -> (messages: Int, devices: Int) {
        try database.first(Self.inFlight, [app, WorkQueue.deliver(pns).number, priority.rank]) { ($0[0], $0[1]) } ?? (
            0, 0
        )
    }

    /// How many more messages may be published.
    func messages(
        for kind: CreditKind,
        app: Int64,
        pns: PushService,
        priority: Priority,
        in database: Database
    ) throws -> Int {
        let inFlight = try self.inFlight(app: app, pns: pns, priority: priority, in: database)
        return max(0, kind.share(of: self.window.messages) - inFlight.messages)
    }

    func credit(
        for kind: CreditKind,
        app: Int64,
        pns: PushService,
        priority: Priority,
        in database: Database
    ) throws -> Credit {
        guard try !database.isPaused(.deliver(pns), app: app) else { return Credit(devices: 0) }
        let (messages, devices) = try self.inFlight(app: app, pns: pns, priority: priority, in: database)
        guard messages < kind.share(of: self.window.messages) else { return Credit(devices: 0) }
        var left = kind.share(of: self.window.devices) - devices
        // The part of the window closed to campaigns is closed to their first pages too.
        if kind == .first { left = min(left, DeliverBatch.maximumDevices) }
        // Whole batches: a window that is nearly full must not be filled up with small ones.
        let whole = max(0, left - left % DeliverBatch.maximumDevices)
        let limits = try database.rateLimits(app: app, pns: pns, now: self.now)
        guard !limits.isEmpty else { return Credit(devices: whole) }
        let credits = limits.mapValues { limit in limit.map { self.credit(of: $0, kind, priority) } }
        let limited = credits.compactMapValues { $0 }
        // A credential without a limit uses what the window leaves.
        guard limited.count == limits.count else { return Credit(devices: whole, limits: limited) }
        // With limits, at most two seconds' worth is in flight: otherwise all of it would be sent at once after a
        // pause.
        let rate = limits.values.reduce(0) { $0 + Int($1?.rate ?? 0) }
        let ahead = kind.share(of: max(1, rate * 2)) - devices
        let free = limited.values.reduce(0) { $0 + $1.devices }
        guard free > 0 else { return Credit(devices: 0, wait: limited.values.compactMap(\.wait).min()) }
        return Credit(devices: max(0, min(free, left, ahead)), limits: limited.count > 1 ? limited : [:])
    }

    /// What a rate limit leaves.
    func credit(of limit: GCRA, _ kind: CreditKind, _ priority: Priority) -> CredentialCredit {
        let nanoseconds = self.now * 1_000_000
        // Retries may exceed the rate: fan-outs would otherwise consume all of it.
        let isUrgent = priority == .high || kind == .retry
        var free = limit.devices(at: nanoseconds, isUrgent: isUrgent)
        // Where campaigns have left nothing, small sends pass them.
        if free == 0, kind == .first { free = limit.devices(at: nanoseconds, isUrgent: true) }
        guard free == 0 else { return CredentialCredit(devices: free) }
        let wait = limit.wait(at: nanoseconds, isUrgent: isUrgent || kind == .first)
        return CredentialCredit(devices: 0, wait: .nanoseconds(wait))
    }
}

extension SQLiteStore {
    var flowControl: FlowControl { FlowControl(clock: self.clock, window: self.configuration.window) }

    /// See ``FanOutStore/credit(for:app:pns:priority:)``.
    package func credit(for kind: CreditKind, app: AppID, pns: PushService, priority: Priority) async throws -> Credit {
        let flow = self.flowControl
        return try await self.read { database in
            guard let number = try database.number(of: app) else { return Credit(devices: 0) }
            return try flow.credit(for: kind, app: number, pns: pns, priority: priority, in: database)
        }
    }
}

extension CreditKind {
    /// How much of a window this kind may fill.
    fileprivate func share(of whole: Int) -> Int {
        switch self {
        case .page: whole
        case .first: whole + (whole + 3) / 4
        case .retry: whole * 2
        }
    }
}

extension Database {
    static let rateLimits = """
        SELECT (SELECT name FROM credential WHERE number = rate_limit.credential), rate, tat FROM rate_limit
        WHERE app = ? AND pns = ?
        """

    /// The rate limits of an app at a service, if one of its credentials has one; nil for a credential without.
    func rateLimits(app: Int64, pns: PushService, now: Int64) throws -> [CredentialName: GCRA?] {
        let rows = try self.all(Self.rateLimits, [app, pns.number]) { row in
            (
                try (row[0] as String?).map { try CredentialName(stored: $0) } ?? .default,
                row[1] == 0 ? nil : GCRA(rate: row[1], tat: row[2], now: now * 1_000_000)
            )
        }
        return Dictionary(uniqueKeysWithValues: rows)
    }
}

extension WriteContext {
    /// Counts devices for the rate limits.
    ///
    /// - Parameters:
    ///   - devices: The number of devices.
    ///   - app: The app's number.
    ///   - pns: The service.
    ///   - priority: Urgent ones may exceed the limit for a moment.
    ///   - kind: First pages may do so too; retries go in any case, and what is too much is waited for later.
    /// - Returns: false when there is no credit for them; then nothing is counted.
    /// - Throws: SQLite's error.
    func spend(_ devices: DeviceCount, app: Int64, pns: PushService, priority: Priority, as kind: CreditKind) throws
        -> Bool
    {
        guard devices.all > 0 else { return true }
        let limits = try self.database.rateLimits(app: app, pns: pns, now: self.now)
        let nanoseconds = self.now * 1_000_000
        let mayGoAhead = priority == .high || kind == .first
        var taken: [CredentialName: GCRA] = [:]
        for case (let credential, var limit?) in limits where devices[credential] > 0 {
            let free = limit.devices(at: nanoseconds, isUrgent: mayGoAhead)
            guard kind == .retry || free >= devices[credential] else { return false }
            limit.take(devices[credential], at: nanoseconds)
            taken[credential] = limit
        }
        for (credential, limit) in taken {
            let number = try self.database.ensureNumber(of: credential, pns, app: app) ?? 0
            try self.database.run(
                "UPDATE rate_limit SET tat = ? WHERE app = ? AND pns = ? AND credential = ?",
                [limit.tat, app, pns.number, number]
            )
        }
        return true
    }
}
