import PushModel
import Store
import StoreKit
import StoreSQL

/// Takes messages that were due when they were looked for.
///
/// Two processes that look at once find the same rows: a message is the one's whose write finds its epoch as it was, and its time past.
struct DueTaking {
    private let now: Int64
    private let found: RateLimitRows
    private var limits: RateLimitRows
    private var taken: [OutboxMessage] = []
    /// Messages that are due later, and when.
    private var postponed: [(message: OutboxMessage, due: Int64)] = []

    init(now: Int64, limits: RateLimitRows) { (self.now, self.found, self.limits) = (now, limits, limits) }

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
        _ = self.limits.spend(devices, of: due.app, at: pns, .retry, due.message.priority)
    }

    /// The messages that nobody else has taken, under their new epochs.
    var transaction: SQLTransaction<[OutboxMessage]> {
        let messages = self.taken
        return SQLTransaction(
            SQLDecision(writing: [self.taking] + self.postponement + self.limits.writes(since: self.found)) { answers in
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
}

extension PostgreSQLStore {
    /// How many devices of a message that is to be taken have each credential but the default one, where that matters: where an app has
    /// several at a service, and a rate limit for one of them.
    func namedDevices(of due: DueMessage, _ limits: RateLimitRows) async throws -> [CredentialName: Int] {
        guard case .deliver(let pns) = due.message.queue, due.state != .deferred,
            limits.limits(of: due.app, at: pns).areSeveral
        else { return [:] }
        let batches = try await self.rows(RetriedDevices.batches(of: due.message.id))
        return try RetriedDevices.counts(
            try await self.rows(batches.map { try RetriedDevices.credentials(of: $0, at: pns) })
        )
    }
}
