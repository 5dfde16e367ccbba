package import Logging
package import PushModel
package import Store
import StoreKit

/// A store whose fan-outs are claimed and given up by statements that all drivers share; what a step writes is a driver's own.
package protocol FanOutEngine: SQLEngine, FanOutStore {
    /// Says what cannot be read.
    var logger: Logger { get }

    /// A send message with its first work, which stays as it is.
    ///
    /// - Throws: ``StoreError``.
    func peek(_ message: MessageID) async throws -> FanOutClaim?
}

extension FanOutEngine {
    package func claim(_ message: MessageID, peeking: Bool) async throws -> FanOutClaim? {
        guard !peeking else { return try await self.readWork(unless: { $0 == nil }) { try await self.peek(message) } }
        let taking = SQLTransaction(FanOutTable.taking(message, at: self.clock.now))
        guard var claim = try await self.perform(taking), let work = try await self.work(of: claim) else { return nil }
        claim.work = work
        return claim
    }

    package func extend(_ claim: FanOutClaim) async throws -> Bool {
        try await self.perform(SQLTransaction(FanOutTable.renewal(of: claim, hasMoved: false, at: self.clock.now)))
    }

    /// Gives up the only send of a message.
    ///
    /// - Throws: ``StoreError``.
    package func abandon(_ claim: FanOutClaim, reason: String) async throws -> FanOutResult {
        let (clock, message) = (self.clock, claim.message.id.number)
        let isLatest: SQLStatement = """
            SELECT id FROM message WHERE id = \(message) AND epoch = \(claim.message.epoch)
            """
        return try await self.end(
            SQLTransaction(reading: isLatest, JobEndings.jobs(JobTable.isMember(of: message))) { messages, jobs in
                var endings = JobEndings(clock)
                guard !messages.isEmpty, let only = jobs.first, jobs.count == 1 else {
                    return endings.decision(.lost)
                }
                let isEnd = try endings.abandon(only, reason: reason)
                endings.add(FanOutTable.renewal(of: claim, at: clock.now).expecting(1))
                let waiter: String? = isEnd ? try only["waiter"] : nil
                return endings.decision(.written(FanOutWritten(isDone: true, waiter: waiter)))
            }
        )
    }

    package func batches(of message: MessageID) async throws -> [DueBatch] {
        try await self.dueBatches(of: message) { error, job in
            var metadata: Logger.Metadata = ["message.id": "\(message)", "error": "\(error)"]
            metadata["job.id"] = (job?.job).map { "\($0)" }
            metadata["request.id"] = (job?.request).map { "\($0)" }
            self.logger.warning("A batch cannot be read", metadata: metadata)
        }
    }
}

/// The row of a message whose sends are fanned out (rule 4).
package enum FanOutTable {
    private static func isPublished(until due: Int64) -> SQLStatement {
        "state = \(raw: "\(MessageState.published.rawValue)"), due = \(due), blocked_on = 0"
    }

    /// Claims a message, whoever else has.
    static func taking(_ message: MessageID, at now: Int64) -> SQLDecision<FanOutClaim?> {
        let taking: SQLStatement = """
            UPDATE message SET epoch = epoch + \(OutboxMessage.claimStep), claims = claims + 1,
                \(self.isPublished(until: now + WorkQueue.send.lease.milliseconds))
            WHERE id = \(message.number) AND queue = \(WorkQueue.send.number)
            RETURNING id, (SELECT name FROM app WHERE number = message.app) AS app, queue, priority, epoch, claims
            """
        // What is claimed once more is claimed all the same.
        return SQLDecision(writing: [taking], recover: { throw ReadIsOld() }) { answers in
            try answers[0].rows.first.map { row in
                FanOutClaim(message: try OutboxMessage(row), claims: try row["claims"], isClaimed: true)
            }
        }
    }

    /// Extends the lease of a claim, if it is the latest; one that only peeked takes the message over.
    ///
    /// - Parameters:
    ///   - claim: The claim.
    ///   - hasMoved: Whether its fan-out has come somewhere with that.
    ///   - members: How many members are done with it, of how many that were open when it was read; nil = it does not matter.
    ///   - now: The store's clock.
    /// - Returns: The statement; it changes no row where the claim is not the latest.
    package static func renewal(
        of claim: FanOutClaim,
        hasMoved: Bool = true,
        leaving members: (count: Int, of: Int)? = nil,
        at now: Int64
    ) -> SQLStatement {
        let claims: SQLStatement = hasMoved ? ", claims = 0" : ""
        let open: SQLStatement = members.map { ", open = \($0.of - $0.count)" } ?? ""
        let isAsRead: SQLStatement = members.map { " AND open = \($0.of)" } ?? ""
        return """
            UPDATE message SET epoch = \(claim.claimed.message.epoch),
                \(self.isPublished(until: now + WorkQueue.send.lease.milliseconds))\(claims)\(open)
            WHERE id = \(claim.message.id.number) AND epoch = \(claim.message.epoch)\(isAsRead)
            """
    }
}

extension OutboxMessage {
    /// Of a row with the columns `id`, `app`, `queue`, `priority` and `epoch`; the app is its name.
    package init(_ row: SQLRow) throws {
        self.init(
            id: MessageID(number: try row["id"]),
            app: try AppID(stored: row["app"]),
            queue: try WorkQueue(number: row["queue"]),
            priority: try Priority(number: row["priority"]),
            epoch: try row["epoch"]
        )
    }
}
