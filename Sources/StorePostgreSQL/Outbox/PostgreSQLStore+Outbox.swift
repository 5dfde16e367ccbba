package import PushModel
package import Store
import StoreKit
import StoreSQL

/// How much is accepted, and how much of it may be under way.
package struct JobLimits: Sendable {
    /// The most unfinished jobs; nil = any number.
    package var backlog: Int?
    /// How much of an app may be under way to a push service at each priority.
    package var window: InFlightWindow

    package init(backlog: Int? = nil, window: InFlightWindow = InFlightWindow()) {
        (self.backlog, self.window) = (backlog, window)
    }
}

extension PostgreSQLStore: OutboxStore {
    package func accept(_ jobs: [NewJob], joining message: MessageID?) async throws -> AcceptedJobs {
        let listed = try await ListedJob.of(jobs, in: self)
        guard let app = try ListedJob.app(of: listed) else { return AcceptedJobs() }
        let works = try listed.map { try StoredWork($0.job.work) }
        let number = try await self.number(of: app)
        return try await self.repeating {
            let acceptance = self.acceptance(of: listed, works, number: number, joining: message)
            return try await self.attemptReadingEach(
                SQLTransaction(reading: acceptance.reads) { try acceptance.decide($0) }
            )
        }
    }

    func acceptance(
        of listed: [ListedJob],
        _ works: [StoredWork],
        number: Int64,
        joining message: MessageID?
    ) -> AcceptanceWrites {
        AcceptanceWrites(
            listed: listed,
            works: works,
            number: number,
            joining: message,
            limits: self.limits,
            clock: self.clock,
            registrations: RegistrationTable(app: number, clock: self.clock, digest: self.handles)
        )
    }

    package func markPublished(_ messages: [OutboxMessage]) async throws {
        guard !messages.isEmpty else { return }
        let mark = Self.mark(messages, at: self.clock.now)
        try await self.perform(SQLTransaction(SQLDecision(writing: [mark], giving: ())))
    }

    static func mark(_ messages: [OutboxMessage], at now: Int64) -> SQLStatement {
        // In one order, so that nobody waits in a circle.
        let messages = messages.sorted { $0.id.number < $1.id.number }
        return """
            UPDATE message SET state = \(raw: "\(MessageState.published.rawValue)"), due = greatest(message.due, marked.due)
            FROM unnest(\(SQLArray.integers(messages.map { $0.id.number })), \(SQLArray.integers(messages.map { Int64($0.epoch) })),
                \(SQLArray.integers(messages.map { now + $0.queue.lease.milliseconds }))) AS marked(id, epoch, due)
            WHERE message.id = marked.id AND message.epoch = marked.epoch
            """
    }

    package func takeDue(
        _ queues: Set<WorkQueue>,
        overdue: Duration,
        limit: Int
    ) async throws -> [OutboxMessage] {
        try await self.repeating {
            let flow = self.flowControl
            let finder = DueMessages(flow: flow, roundRobin: self.roundRobin, queues: queues, overdue: overdue)
            guard let found = try await self.dueMessages(in: queues, limit: limit, flow) else { return [] }
            let due = try finder.find(limit: limit, in: found)
            guard !due.isEmpty else { return [] }
            var taking = DueTaking(now: flow.now, limits: found.services.limits)
            for message in due {
                let named = try await self.namedDevices(of: message, found.services.limits)
                taking.add(message, named: named)
            }
            return try await self.attempt(taking.transaction)
        }
    }

    package func `defer`(_ message: MessageID, epoch: Int?, _ deferral: Deferral) async throws -> Bool {
        let (number, now) = (message.number, self.clock.now)
        let deferred: SQLStatement = "\(raw: "\(MessageState.deferred.rawValue)")"
        // A copy of a message that rests already is not needed.
        let guardian: SQLStatement = epoch.map { "epoch = \($0)" } ?? "NOT (state = \(deferred) AND due > \(now))"
        let update: SQLStatement = """
            UPDATE message SET state = \(deferred), due = \(now + deferral.pause.milliseconds), blocked_on = \(BlockedOn(deferral).bits),
                reason = \(deferral.reason?.storedText), cause = \(deferral.reason?.cause?.rawValue), epoch = epoch + 1, claims = 0
            WHERE id = \(number) AND \(guardian)
            """
        // Batches of stopping jobs were never begun: they are at no worker any more.
        let stopped: SQLStatement = """
            SELECT batch.job FROM batch JOIN job ON job.sequence = batch.job
            WHERE batch.message = \(number) AND batch.open = 1 AND job.stopped IS NOT NULL
            """
        let (isDeferred, hasStopped) = try await self.perform(
            SQLTransaction(
                SQLDecision(writing: [update, stopped]) { ($0[0].count > 0, !$0[1].rows.isEmpty) }
            )
        )
        // Where this is not reached, whoever gets the message again closes them.
        if isDeferred, hasStopped {
            _ = try await self.end(JobStops.stop(stopped, .deferral(message: number), clock: self.clock))
        }
        return isDeferred
    }

    package func redelivered(_ message: MessageID) async throws -> (count: Int, members: Int)? {
        let count: SQLStatement = """
            UPDATE message SET redeliveries = redeliveries + 1 WHERE id = \(message.number) RETURNING redeliveries, open
            """
        let row = try await self.perform(SQLTransaction(SQLDecision(writing: [count]) { $0[0].rows.first }))
        guard let row, try (row["open"] as Int) > 0 else { return nil }
        return (try row["redeliveries"], try row["open"])
    }
}

extension PostgreSQLStore: SuspectStore {}
