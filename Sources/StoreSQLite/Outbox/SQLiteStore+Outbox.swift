import GRDB
package import PushModel
package import Store
import StoreKit

extension SQLiteStore: OutboxStore {
    package func accept(_ jobs: [NewJob], joining message: MessageID?) async throws -> AcceptedJobs {
        let jobs = try await self.listed(jobs)
        let works = try jobs.map { try StoredWork($0.job.work) }
        let (limit, flow) = (self.configuration.maximumBacklog, self.flowControl)
        let rows = jobs.reduce(jobs.count) { $0 + $1.recipients.count }
        return try await self.write(.of(rows: rows)) {
            try $0.accept(jobs, works: works, joining: message, backlog: limit, flow: flow)
        }
    }

    package func markPublished(_ messages: [OutboxMessage]) async throws {
        guard !messages.isEmpty else { return }
        // Looks before it writes: most have been claimed, or are done, by the time they are marked.
        let left = try await self.read { database in
            let find = try RawStatement("SELECT 1 FROM message WHERE id = ? AND epoch = ?", in: database)
            defer { find.reset() }
            return try messages.filter { message in
                try find.restart(message.id.number, Int64(message.epoch))
                return try find.step()
            }
        }
        guard !left.isEmpty else { return }
        try await self.write { context in
            for message in left {
                try context.database.run(
                    "UPDATE message SET state = ?, due = max(due, ?) WHERE id = ? AND epoch = ?",
                    [
                        MessageState.published.rawValue, context.now + message.queue.lease.milliseconds,
                        message.id.number, message.epoch,
                    ]
                )
            }
        }
    }

    package func takeDue(
        _ queues: Set<WorkQueue>,
        overdue: Duration,
        limit: Int
    ) async throws -> [OutboxMessage] {
        let finder = DueMessages(flow: self.flowControl, roundRobin: self.roundRobin, queues: queues, overdue: overdue)
        // Looks before it writes: an idle store stays idle.
        let due = try await self.read { try finder.find(limit: limit, in: $0) }
        guard !due.isEmpty else { return [] }
        return try await self.write { context in try due.compactMap { try context.take($0, flow: finder.flow) } }
    }

    package func `defer`(_ message: MessageID, epoch: Int?, _ deferral: Deferral) async throws -> Bool {
        try await self.write { try $0.defer(message.number, epoch: epoch, deferral) }
    }

    package func redelivered(_ message: MessageID) async throws -> (count: Int, members: Int)? {
        try await self.write { context in
            let count = try context.database.first(
                "UPDATE message SET redeliveries = redeliveries + 1 WHERE id = ? RETURNING redeliveries",
                [message.number]
            ) { $0[0] as Int }
            guard let count, let members = try context.openMembers(of: message.number) else { return nil }
            return (count, members)
        }
    }

    package func split(_ message: MessageID) async throws {
        try await self.write { try $0.split(message.number) }
    }
}

extension WriteContext {
    /// Takes a message that was due, unless somebody else has since, or it was marked or renewed, which leaves its epoch as it is.
    func take(_ due: DueMessage, flow: FlowControl) throws -> OutboxMessage? {
        let message = due.message
        var devices = DeviceCount()
        // Deferred messages were not sent and are counted already.
        if case .deliver(let pns) = message.queue, due.state != .deferred {
            devices.add(due.size, try self.namedDevices(of: due, at: pns))
            if try self.postpone(due, devices, at: pns, flow) { return nil }
        }
        let taken = try self.database.change(
            """
            UPDATE message SET state = ?, due = ?, epoch = epoch + 1, blocked_on = 0, reason = NULL, cause = NULL
            WHERE id = ? AND epoch = ? AND due <= ?
            """,
            [
                MessageState.published.rawValue, self.now + OutboxMessage.grace.milliseconds, message.id.number,
                message.epoch, self.now,
            ]
        )
        guard taken > 0 else { return nil }
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
            UPDATE message SET state = ?1, due = ?2, blocked_on = ?3, reason = ?4, cause = ?8, epoch = epoch + 1, claims = 0
            WHERE id = ?5 AND \(guardian) AND ?6 = ?6 AND ?7 IS ?7
            """,
            [
                MessageState.deferred.rawValue, self.now + deferral.pause.milliseconds, BlockedOn(deferral).bits,
                deferral.reason?.storedText, message, self.now, epoch, deferral.reason?.cause?.rawValue,
            ]
        )
        guard deferred > 0 else { return false }
        // Batches of stopping jobs were never begun: they are at no worker any more.
        let stopped = try self.database.all(
            """
            SELECT batch.job, job.state, batch.pns, batch.page, batch.attempt, batch.size
            FROM batch CROSS JOIN job ON job.sequence = batch.job
            WHERE batch.message = ? AND batch.open = 1 AND job.stopped IS NOT NULL
            """,
            [message]
        ) {
            (
                job: $0[0] as Int64, cause: try Job.State(number: $0[1]).stopCause,
                batch: OpenPage(pns: $0[2], page: $0[3], attempt: $0[4], size: $0[5], message: message)
            )
        }
        for case (let job, let cause?, let batch) in stopped {
            try self.closeUnsent(batch, of: job, cause)
            try self.completeIfDone(job)
        }
        return true
    }
}
