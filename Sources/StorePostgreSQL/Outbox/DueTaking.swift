import PushModel
import Store
import StoreKit
import StoreSQL

/// What apps' deliveries are held back by: pauses and rate limits.
struct DueLimits: Sendable {
    /// A row of the table `rate_limit`.
    struct Row: Sendable {
        /// Its number; 0 = the default one.
        let credential: Int64
        let name: CredentialName
        let rate: Int
        var tat: Int64
    }

    struct Key: Hashable, Sendable {
        let app: Int64
        let pns: PushService
    }

    fileprivate(set) var rows: [Key: [Row]]
    private let paused: [(queue: WorkQueue, app: Int64)]
    private let now: Int64

    init(_ rows: [SQLRow], paused: [(queue: WorkQueue, app: Int64)], now: Int64) throws {
        (self.paused, self.now) = (paused, now)
        self.rows = [:]
        for row in rows {
            let key = Key(app: try row["app"], pns: try PushService(stored: row["pns"]))
            let limit = Row(
                credential: try row["credential"],
                name: try (row["name"] as String?).map { try CredentialName(stored: $0) } ?? .default,
                rate: try row["rate"],
                tat: try row["tat"]
            )
            self.rows[key, default: []].append(limit)
        }
    }

    func isPaused(_ queue: WorkQueue, app: Int64) -> Bool {
        self.paused.contains { $0.queue == queue && [PauseTable.allApps, app].contains($0.app) }
    }

    func limits(of app: Int64, at pns: PushService) -> RateLimits {
        let rows = self.rows[Key(app: app, pns: pns), default: []]
        return RateLimits(rows.map { (credential: $0.name, rate: $0.rate, tat: $0.tat) }, now: self.now)
    }
}

/// Takes messages that were due when they were looked for.
///
/// Two processes that look at once find the same rows: a message is the one's whose write finds its epoch as it was, and its time past.
struct DueTaking {
    private let now: Int64
    private let found: DueLimits
    private var limits: DueLimits
    private var taken: [OutboxMessage] = []
    /// Messages that are due later, and when.
    private var postponed: [(message: OutboxMessage, due: Int64)] = []

    init(now: Int64, limits: DueLimits) { (self.now, self.found, self.limits) = (now, limits, limits) }

    /// Takes a message, and counts its devices for the rate limits: each leaves less for those behind it.
    ///
    /// - Parameters:
    ///   - due: The message.
    ///   - named: How many of its devices have each credential but the default one, where that matters.
    mutating func add(_ due: DueMessage, named: [CredentialName: Int]) {
        // Deferred messages were not sent and are counted already.
        guard case .deliver(let pns) = due.message.queue, due.state != .deferred else {
            self.taken.append(due.message)
            return
        }
        var devices = DeviceCount()
        devices.add(due.size, named)
        let limits = self.limits.limits(of: due.app, at: pns)
        // Those behind it may have another credential, which has credit.
        if let wait = limits.wait(ofRetry: devices, due.message.priority) {
            self.postponed.append((due.message, self.now + wait.milliseconds))
            return
        }
        self.taken.append(due.message)
        guard devices.all > 0, let spent = limits.spend(devices, .retry, due.message.priority) else { return }
        let key = DueLimits.Key(app: due.app, pns: pns)
        for index in self.limits.rows[key, default: []].indices {
            guard let name = self.limits.rows[key]?[index].name, let tat = spent[name] else { continue }
            self.limits.rows[key]?[index].tat = tat
        }
    }

    /// The messages that nobody else has taken, under their new epochs.
    var transaction: SQLTransaction<[OutboxMessage]> {
        let messages = self.taken
        return SQLTransaction(
            SQLDecision(writing: [self.taking] + self.postponement + self.spending) { answers in
                let taken = Set(try answers[0].rows.map { try $0["id"] as Int64 })
                return messages.filter { taken.contains($0.id.number) }.map { $0.with(epoch: $0.epoch + 1) }
            }
        )
    }

    private var taking: SQLStatement {
        let messages = self.taken.sorted { $0.id.number < $1.id.number }
        return """
            UPDATE message SET state = \(raw: "\(MessageState.published.rawValue)"), due = \(self.now + OutboxMessage.grace.milliseconds),
                epoch = message.epoch + 1, blocked_on = 0, reason = NULL, cause = NULL
            FROM unnest(\(SQLArray.integers(messages.map { $0.id.number })), \(SQLArray.integers(messages.map { Int64($0.epoch) }))
                ) AS found(id, epoch)
            WHERE message.id = found.id AND message.epoch = found.epoch AND message.due <= \(self.now) RETURNING message.id
            """
    }

    private var postponement: [SQLStatement] {
        guard !self.postponed.isEmpty else { return [] }
        let later = self.postponed.sorted { $0.message.id.number < $1.message.id.number }
        return [
            """
            UPDATE message SET due = later.due
            FROM unnest(\(SQLArray.integers(later.map { $0.message.id.number })),
                \(SQLArray.integers(later.map { Int64($0.message.epoch) })), \(SQLArray.integers(later.map { $0.due }))
                ) AS later(id, epoch, due)
            WHERE message.id = later.id AND message.epoch = later.epoch AND message.due <= \(self.now)
            """
        ]
    }

    /// Guarded by what was read: who counts at the same time counts again.
    private var spending: [SQLStatement] {
        let keys = self.limits.rows.keys.sorted { ($0.app, $0.pns.number) < ($1.app, $1.pns.number) }
        return keys.flatMap { key in
            zip(self.found.rows[key, default: []], self.limits.rows[key, default: []]).compactMap {
                old,
                new -> SQLStatement? in
                guard old.tat != new.tat else { return nil }
                let spend: SQLStatement = """
                    UPDATE rate_limit SET tat = \(new.tat) WHERE app = \(key.app) AND pns = \(key.pns.number)
                        AND credential = \(new.credential) AND tat = \(old.tat)
                    """
                return spend.expecting(1)
            }
        }
    }
}

extension PostgreSQLStore {
    /// How many devices of a message that is to be taken have each credential but the default one, where that matters: where an app has
    /// several at a service, and a rate limit for one of them.
    func namedDevices(of due: DueMessage, _ limits: DueLimits) async throws -> [CredentialName: Int] {
        guard case .deliver(let pns) = due.message.queue, due.state != .deferred,
            limits.limits(of: due.app, at: pns).areSeveral
        else { return [:] }
        let batches = try await self.rows(RetriedDevices.batches(of: due.message.id))
        return try RetriedDevices.counts(
            try await self.rows(batches.map { try RetriedDevices.credentials(of: $0, at: pns) })
        )
    }
}
