package import PushModel
package import Store
import StoreKit
import StoreSQL

extension SQLiteStore: OutboxStore {
    package func accept(_ jobs: [NewJob], joining message: MessageID?) async throws -> AcceptedJobs {
        let jobs = try await self.listed(jobs)
        let works = try jobs.map { try StoredWork($0.job.work) }
        let (limit, window) = (self.configuration.maximumBacklog, self.configuration.window)
        let rows = jobs.reduce(jobs.count) { $0 + $1.recipients.count }
        return try await self.write(.of(rows: rows)) {
            try $0.accept(jobs, works: works, joining: message, backlog: limit, window: window)
        }
    }

    package func markPublished(_ messages: [OutboxMessage]) async throws {
        guard !messages.isEmpty else { return }
        // Looks before it writes: most have been claimed, or are done, by the time they are marked.
        let left = try await self.read { database in
            let find = try PreparedStatement("SELECT 1 FROM message WHERE id = ? AND epoch = ?", in: database)
            defer { find.reset() }
            return try messages.filter { message in
                try find.restart(message.id.number, Int64(message.epoch))
                return try find.step()
            }
        }
        guard !left.isEmpty else { return }
        try await self.write { context in
            // One statement over all of them is slower here, by a third with 32.
            let mark = try PreparedStatement(
                """
                UPDATE message SET state = \(MessageState.published.rawValue), due = max(due, ?3) WHERE id = ?1 AND epoch = ?2
                """,
                in: context.database
            )
            for message in left {
                let due = context.now + message.queue.lease.milliseconds
                try mark.run(message.id.number, [message.epoch, Int(due)])
            }
        }
    }

    package func takeDue(
        _ queues: Set<WorkQueue>,
        overdue: Duration,
        limit: Int
    ) async throws -> [OutboxMessage] {
        let flow = self.flowControl
        let finder = DueMessages(flow: flow, roundRobin: self.roundRobin, queues: queues, overdue: overdue)
        // Looks before it writes: an idle store stays idle.
        let due = try await self.read { try finder.find(limit: limit, in: $0, now: flow.now) }
        guard !due.isEmpty else { return [] }
        return try await self.write { try $0.take(due) }
    }

    package func `defer`(_ message: MessageID, epoch: Int?, _ deferral: Deferral) async throws -> Bool {
        try await self.write { try $0.defer(message.number, epoch: epoch, deferral) }
    }

    package func redelivered(_ message: MessageID) async throws -> (count: Int, members: Int)? {
        try await self.write { context in
            let count: Int? = try context.database.value(
                "UPDATE message SET redeliveries = redeliveries + 1 WHERE id = ? RETURNING redeliveries",
                [message.number]
            )
            guard let count, let members = try context.openMembers(of: message.number) else { return nil }
            return (count, members)
        }
    }
}

extension WriteContext {
    /// Takes messages that were due, unless somebody else has since, or one was marked or renewed, which leaves its epoch as it is.
    ///
    /// Two that look at once would find the same rows; taking is a write that raises the epoch of what is due still, so that a second
    /// writer takes none of them.
    func take(_ due: [DueMessage]) throws -> [OutboxMessage] {
        let take = try PreparedStatement(
            """
            UPDATE message SET state = \(MessageState.published.rawValue), due = ?3, epoch = epoch + 1, blocked_on = 0,
                reason = NULL, cause = NULL
            WHERE id = ?1 AND epoch = ?2 AND due <= ?4
            """,
            in: self.database
        )
        return try due.compactMap { try self.take($0, by: take) }
    }

    private func take(_ due: DueMessage, by take: PreparedStatement) throws -> OutboxMessage? {
        let message = due.message
        var devices = DeviceCount()
        // Deferred messages were not sent and are counted already.
        if case .deliver(let pns) = message.queue, due.state != .deferred {
            devices.add(due.size, try self.namedDevices(of: due, at: pns))
            if try self.postpone(due, devices, at: pns) { return nil }
        }
        let grace = OutboxMessage.grace.milliseconds
        try take.run(message.id.number, [message.epoch, Int(self.now + grace), Int(self.now)])
        guard self.database.changesCount > 0 else { return nil }
        if case .deliver(let pns) = message.queue {
            _ = try self.spend(devices, app: due.app, pns: pns, priority: message.priority, as: .retry)
        }
        return message.with(epoch: message.epoch + 1)
    }

    fileprivate func `defer`(_ message: Int64, epoch: Int?, _ deferral: Deferral) throws -> Bool {
        // A copy of a message that rests already is not needed.
        let guardian =
            epoch == nil ? "NOT (state = \(MessageState.deferred.rawValue) AND due > ?6)" : "epoch = ?7"
        let deferred = try self.database.change(
            """
            UPDATE message SET state = \(MessageState.deferred.rawValue), due = ?1, blocked_on = ?2, reason = ?3, cause = ?4,
                epoch = epoch + 1, claims = 0
            WHERE id = ?5 AND \(guardian) AND ?6 = ?6 AND ?7 IS ?7
            """,
            [
                self.now + deferral.pause.milliseconds, BlockedOn(deferral).bits,
                deferral.reason?.storedText, deferral.reason?.cause?.rawValue, message, self.now, epoch,
            ]
        )
        guard deferred > 0 else { return false }
        // Batches of stopping jobs were never begun: they are at no worker any more.
        let stopped: SQLStatement = """
            SELECT batch.job FROM batch CROSS JOIN job
            WHERE job.sequence = batch.job AND batch.message = \(message) AND batch.open = 1 AND job.stopped IS NOT NULL
            """
        if try !self.database.answer(stopped).rows.isEmpty {
            _ = try self.end(JobStops.stop(stopped, .deferral(message: message), clock: self.clock))
        }
        return true
    }
}
