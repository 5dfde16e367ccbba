import GRDB
package import PushModel
package import Store
import StoreKit

/// The present credit at a push service: the in-flight window of an app and priority, and its rate limit (rule 12).
struct FlowControl: Sendable {
    let clock: StoreClock
    /// The time at which is looked by the store's clock, in milliseconds.
    let now: Int64
    private let window: InFlightWindow

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
        guard try !database.isPaused(.deliver(pns), app: app) else { return Credit(devices: 0, isPaused: true) }
        let (messages, devices) = try self.inFlight(app: app, pns: pns, priority: priority, in: database)
        guard messages < kind.share(of: self.window.messages) else { return Credit(devices: 0) }
        var left = kind.share(of: self.window.devices) - devices
        // The part of the window closed to campaigns is closed to their first pages too.
        if kind == .first { left = min(left, DeliverBatch.maximumDevices) }
        guard let limit = try database.rateLimit(app: app, pns: pns, now: self.now) else {
            // Whole batches: a window that is nearly full must not be filled up with small ones.
            return Credit(devices: max(0, left - left % DeliverBatch.maximumDevices))
        }
        // With a limit, at most two seconds' worth is in flight: otherwise all of it would be sent at once after a
        // pause.
        let ahead = kind.share(of: max(1, Int(limit.rate) * 2)) - devices
        let nanoseconds = self.now * 1_000_000
        // Retries may exceed the rate: fan-outs would otherwise consume all of it.
        let isUrgent = priority == .high || kind == .retry
        var free = limit.devices(at: nanoseconds, isUrgent: isUrgent)
        // Where campaigns have left nothing, small sends pass them.
        if free == 0, kind == .first { free = limit.devices(at: nanoseconds, isUrgent: true) }
        guard free > 0 else {
            let wait = limit.wait(at: nanoseconds, isUrgent: isUrgent || kind == .first)
            return Credit(devices: 0, wait: .nanoseconds(wait))
        }
        return Credit(devices: max(0, min(free, left, ahead)))
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
    /// The rate limit of an app at a service, if it has one.
    fileprivate func rateLimit(app: Int64, pns: PushService, now: Int64) throws -> GCRA? {
        try self.first("SELECT rate, tat FROM rate_limit WHERE app = ? AND pns = ?", [app, pns.number]) { row in
            GCRA(rate: row[0], tat: row[1], now: now * 1_000_000)
        }
    }
}

extension WriteContext {
    /// Counts devices for the rate limit.
    ///
    /// - Parameters:
    ///   - devices: The number of devices.
    ///   - app: The app's number.
    ///   - pns: The service.
    ///   - priority: Urgent ones may exceed the limit for a moment.
    ///   - kind: First pages may do so too; retries go in any case, and what is too much is waited for later.
    /// - Returns: false when there is no credit for them; then nothing is counted.
    /// - Throws: SQLite's error.
    func spend(_ devices: Int, app: Int64, pns: PushService, priority: Priority, as kind: CreditKind) throws -> Bool {
        guard devices > 0, var limit = try self.database.rateLimit(app: app, pns: pns, now: self.now) else {
            return true
        }
        let nanoseconds = self.now * 1_000_000
        let mayGoAhead = priority == .high || kind == .first
        guard kind == .retry || limit.devices(at: nanoseconds, isUrgent: mayGoAhead) >= devices else { return false }
        limit.take(devices, at: nanoseconds)
        try self.database.run(
            "UPDATE rate_limit SET tat = ? WHERE app = ? AND pns = ?",
            [limit.tat, app, pns.number]
        )
        return true
    }

    /// Applies the rate limits of an app's declaration.
    func setLimits(_ spec: AppSpec, app: Int64) throws {
        for pns in PushService.allCases {
            guard let rate = spec.devicesPerSecond(for: pns) else {
                try self.database.run("DELETE FROM rate_limit WHERE app = ? AND pns = ?", [app, pns.number])
                continue
            }
            try self.database.run(
                """
                INSERT INTO rate_limit(app, pns, rate, tat) VALUES (?, ?, ?, ?)
                ON CONFLICT (app, pns) DO UPDATE SET rate = excluded.rate
                """,
                [app, pns.number, rate, self.now * 1_000_000]
            )
        }
    }
}
