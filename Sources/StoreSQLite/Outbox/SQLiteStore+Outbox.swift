package import PushModel
package import Store
import StoreKit
import StoreSQL

extension SQLiteStore: OutboxStore {
    package func accept(_ jobs: [NewJob], joining message: MessageID?) async throws -> AcceptedJobs {
        let jobs = try await ListedJob.of(jobs, in: self)
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
        let ids = messages.map(\.id.number)
        let rows = try await self.rows("SELECT id, epoch FROM message WHERE id IN (\(numbers: ids))")
        let epochs = Dictionary(uniqueKeysWithValues: try rows.map { (try $0["id"] as Int64, try $0["epoch"] as Int) })
        let left = messages.filter { epochs[$0.id.number] == $0.epoch }
        guard !left.isEmpty else { return }
        try await self.write { context in
            // The driver's own: one statement over all of them is slower here, by a third with 32.
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
    /// Takes messages that were due, unless another has since, or one was marked or renewed, which leaves its epoch as it is.
    ///
    /// Two that look at once would find the same rows; taking is a write that raises the epoch of what is due still. Where there is a
    /// second writer, that write is to ask again for epoch and time.
    func take(_ due: [DueMessage]) throws -> [OutboxMessage] {
        let found = try self.database.answer(
            "SELECT id, epoch FROM message WHERE id IN (\(numbers: due.map(\.message.id.number))) AND due <= \(self.now)"
        ).rows
        var epochs: [Int64: Int] = [:]
        for row in found { epochs[try row["id"]] = try row["epoch"] }
        let taken = try due.filter { due in
            try epochs[due.message.id.number] == due.message.epoch && self.mayGo(due)
        }.map(\.message)
        _ = try self.database.answer(
            """
            UPDATE message SET state = \(raw: "\(MessageState.published.rawValue)"),
                due = \(self.now + OutboxMessage.grace.milliseconds), epoch = epoch + 1, blocked_on = 0, reason = NULL, cause = NULL
            WHERE id IN (\(numbers: taken.map(\.id.number)))
            """
        )
        return taken.map { $0.with(epoch: $0.epoch + 1) }
    }

    /// Counts the devices of a message for the rate limits, one message after the other: each leaves less for those behind it.
    ///
    /// - Returns: Whether the message goes now; if not, it is due later.
    private func mayGo(_ due: DueMessage) throws -> Bool {
        // Deferred messages were not sent and are counted already.
        guard case .deliver(let pns) = due.message.queue, due.state != .deferred else { return true }
        var devices = DeviceCount()
        devices.add(due.size, try self.namedDevices(of: due, at: pns))
        if try self.postpone(due, devices, at: pns) { return false }
        _ = try self.spend(devices, app: due.app, pns: pns, priority: due.message.priority, as: .retry)
        return true
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
