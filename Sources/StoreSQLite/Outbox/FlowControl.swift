package import PushModel
package import Store
import StoreKit

extension SQLiteStore {
    var flowControl: FlowControl { FlowControl(now: self.clock.now, window: self.configuration.window) }

    /// See ``FanOutStore/credit(for:app:pns:priority:)``.
    package func credit(for kind: CreditKind, app: AppID, pns: PushService, priority: Priority) async throws -> Credit {
        let flow = self.flowControl
        return try await self.read { database in
            guard let number = try database.number(of: app) else { return Credit(devices: 0) }
            let load = try database.load(of: number, at: pns, priority, now: flow.now)
            return flow.credit(for: kind, priority, at: load)
        }
    }
}

/// What the windows and limits of rule 12 are read with.
enum FlowQueries {
    /// How many messages and devices of an app are in flight to a service at a priority.
    static let inFlight = """
        SELECT count(*) AS messages, coalesce(sum(size), 0) AS devices FROM message
        WHERE app = ? AND queue = ? AND priority = ? AND \(OutboxTable.isInFlight)
        """

    static let rateLimits = """
        SELECT (SELECT name FROM credential WHERE number = rate_limit.credential) AS name, rate, tat FROM rate_limit
        WHERE app = ? AND pns = ?
        """

    /// How many messages of jobs an app has in a queue that are published, or are about to be; beyond the limit none is counted.
    static let jobsInFlight = """
        SELECT count(*) FROM (
            SELECT 1 FROM message
            WHERE priority = ? AND app = ? AND queue = ?
                AND state IN (\(MessageState.ready.rawValue), \(MessageState.published.rawValue)) LIMIT ?
        )
        """

    /// How many messages of jobs wait for nothing but credit; beyond the limit none is counted.
    static let waitingJobs = """
        SELECT count(*) FROM (
            SELECT 1 FROM message
            WHERE priority = ? AND app = ? AND queue = ? AND state = \(MessageState.deferred.rawValue) AND blocked_on = 0
                AND due <= ? LIMIT ?
        )
        """
}

extension Database {
    /// What an app has at a push service.
    func load(of app: Int64, at pns: PushService, _ priority: Priority, now: Int64) throws -> ServiceLoad {
        guard try !self.isPaused(.deliver(pns), app: app) else { return ServiceLoad(isPaused: true) }
        let limits = try self.rateLimits(app: app, pns: pns, now: now)
        return try self.first(FlowQueries.inFlight, [app, WorkQueue.deliver(pns).number, priority.rank]) {
            ServiceLoad(messages: $0["messages"], devices: $0["devices"], limits: limits)
        } ?? ServiceLoad(limits: limits)
    }

    func rateLimits(app: Int64, pns: PushService, now: Int64) throws -> RateLimits {
        let rows = try self.all(FlowQueries.rateLimits, [app, pns.number]) { row in
            (
                credential: try (row["name"] as String?).map { try CredentialName(stored: $0) } ?? .default,
                rate: row["rate"] as Int, tat: row["tat"] as Int64
            )
        }
        return RateLimits(rows, now: now)
    }

    /// How many messages of jobs an app has in a queue that are published, or about to be.
    func jobsInFlight(of app: Int64, in queue: WorkQueue, _ priority: Priority, most: Int) throws -> Int {
        try self.value(FlowQueries.jobsInFlight, [priority.rank, app, queue.number, most]) ?? 0
    }

    /// What an app has of jobs in a queue.
    func jobLoad(of app: Int64, in queue: WorkQueue, _ priority: Priority, now: Int64, most: Int) throws -> JobLoad {
        let inFlight = try self.jobsInFlight(of: app, in: queue, priority, most: most)
        let waiting: Int? = try self.value(
            FlowQueries.waitingJobs,
            [priority.rank, app, queue.number, now, most - inFlight]
        )
        return JobLoad(inFlight: inFlight, waiting: waiting ?? 0)
    }
}

extension WriteContext {
    /// Counts devices for the rate limits; see ``RateLimits/spend(_:_:_:)``.
    ///
    /// - Returns: false when there is no credit for them; then nothing is counted.
    func spend(_ devices: DeviceCount, app: Int64, pns: PushService, priority: Priority, as kind: CreditKind) throws
        -> Bool
    {
        guard devices.all > 0 else { return true }
        let limits = try self.database.rateLimits(app: app, pns: pns, now: self.now)
        guard let spent = limits.spend(devices, kind, priority) else { return false }
        for (credential, tat) in spent {
            let number = try self.database.ensureNumber(of: credential, pns, app: app) ?? 0
            try self.database.run(
                "UPDATE rate_limit SET tat = ? WHERE app = ? AND pns = ? AND credential = ?",
                [tat, app, pns.number, number]
            )
        }
        return true
    }
}
