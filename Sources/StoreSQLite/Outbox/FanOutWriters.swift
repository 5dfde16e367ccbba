import PushModel
import Store
import StoreKit
import StoreSQL

/// Writes the sends of a group with their batches and delivery messages, within a transaction.
struct GroupStepWriter {
    private let context: WriteContext
    private let claim: FanOutClaim
    private let step: GroupStep
    private let app: Int64
    private let fanOut: PreparedTransition
    private let findNoTarget: PreparedTransition
    private let batch: PreparedStatement
    private var deliveries: GroupDeliveries
    private var window: JobWindow

    init(context: WriteContext, claim: FanOutClaim, step: GroupStep, window: InFlightWindow) throws {
        self.context = context
        self.claim = claim
        self.step = step
        self.deliveries = GroupDeliveries(count: step.messages)
        self.app = try context.database.ensureNumber(of: claim.message.app)
        self.window = JobWindow(window)
        self.fanOut = try PreparedTransition(.fanOut, context)
        self.findNoTarget = try PreparedTransition(.findNoTarget, context)
        self.batch = try PreparedStatement(BatchTable.insert, in: context.database)
    }

    mutating func write() throws -> FanOutWritten {
        for (pns, devices) in self.step.devices {
            let priority = self.claim.message.priority
            guard try self.context.spend(devices, app: self.app, pns: pns, priority: priority, as: .first) else {
                throw NoCredit()
            }
        }
        var written = FanOutWritten()
        for send in self.step.sends {
            let isWritten: Bool
            switch send.decision {
            case .ownMessage:
                isWritten = try self.writeAlone(send.sequence, &written)
            case .batches(let batches, _) where batches.isEmpty: isWritten = try self.writeNoTarget(send.sequence)
            case .batches(let batches, let through):
                isWritten = try self.write(batches, of: send.sequence, through: through)
            }
            if isWritten {
                self.context.leave(message: self.claim.message.id.number)
            } else {
                written.lost.insert(send.sequence)
            }
        }
        written.deliveries = try self.finishDeliveries()
        written.isDone = try self.context.openMembers(of: self.claim.message.id.number) == nil
        return written
    }

    private func writeNoTarget(_ job: Int64) throws -> Bool {
        try self.findNoTarget.make(job, self.claim.message.id.number, self.context.wall.milliseconds)
    }

    /// Gives a send a message of its own, in which each service has a cursor.
    ///
    /// - Returns: Whether it was still its message's.
    private mutating func writeAlone(_ job: Int64, _ written: inout FanOutWritten) throws -> Bool {
        let database = self.context.database
        let isMember = try database.exists(
            "SELECT 1 FROM job WHERE sequence = ? AND message = ?",
            [job, self.claim.message.id.number]
        )
        guard isMember, let campaign = try database.campaign(job) else { return false }
        for insertion in OutboxTable.cursors(campaign.cursors.map { NewCursor($0, of: job) }) {
            _ = try database.answer(insertion)
        }
        let priority = self.claim.message.priority
        let (now, app) = (self.context.now, self.app)
        let state = try self.window.begin(in: .send) { queue, most in
            try database.jobLoad(of: app, in: queue, priority, now: now, most: most)
        }
        let id = try self.context.insert(
            NewMessage(
                queue: .send,
                app: self.app,
                priority: priority.rank,
                state: state,
                due: self.context.now,
                members: 1,
                jobs: job...job
            )
        )
        try database.run("UPDATE job SET message = ? WHERE sequence = ?", [id, job])
        if state == .ready {
            written.ownMessages.append(self.claim.newMessage(id, in: .send))
        }
        return true
    }

    /// Writes all batches of a send.
    ///
    /// - Returns: Whether it was still its message's.
    private mutating func write(_ batches: [SinglePage], of job: Int64, through: Int64) throws -> Bool {
        // A single batch needs no row of its own.
        let only = batches.count == 1 ? batches.first : nil
        let message = try only.map { try self.delivery(for: $0, of: job) }
        let isWritten = try self.fanOut.make(
            job,
            self.claim.message.id.number,
            self.context.wall.milliseconds,
            only?.pns.number,
            only == nil ? nil : through,
            only?.size,
            message
        )
        guard isWritten else { return false }
        for batch in batches { try self.put(batch, of: job, through: through, isInline: only != nil) }
        return true
    }

    /// The delivery message that a batch travels in, begun if it is its first.
    private mutating func delivery(for batch: SinglePage, of job: Int64) throws -> Int64 {
        let (context, app, priority) = (self.context, self.app, self.claim.message.priority)
        return try self.deliveries.number(for: batch, of: job) {
            try context.insert(
                NewMessage(
                    deliveryAt: batch.pns,
                    app: app,
                    priority,
                    members: 0,
                    size: 0,
                    jobs: job...job,
                    now: context.now
                )
            )
        }
    }

    private mutating func put(_ batch: SinglePage, of job: Int64, through: Int64, isInline: Bool) throws {
        let message = try self.delivery(for: batch, of: job)
        self.deliveries.put(batch, of: job)
        guard !isInline else { return }
        try self.batch.run(job, [batch.pns.number, 0, 0, Int(through), batch.size, Int(message), 0])
    }

    /// - Returns: The delivery messages; nil if nothing is in one.
    private func finishDeliveries() throws -> [OutboxMessage?] {
        try self.deliveries.all.map { delivery in
            guard let delivery else { return nil }
            guard delivery.batches > 0 else {
                // Begun for a send that was lost.
                try self.context.database.run("DELETE FROM message WHERE id = ?", [delivery.number])
                return nil
            }
            let jobs = delivery.jobs
            try self.context.database.run(
                "UPDATE message SET first = ?, last = ?, open = ?, size = ? WHERE id = ?",
                [jobs.lowerBound, jobs.upperBound, delivery.batches, delivery.devices, delivery.number]
            )
            return self.claim.newMessage(delivery.number, in: .deliver(delivery.pns))
        }
    }
}

extension FanOutClaim {
    /// A new message of the claim's app, in its priority.
    fileprivate func newMessage(_ number: Int64, in queue: WorkQueue) -> OutboxMessage {
        OutboxMessage(
            id: MessageID(number: number),
            app: self.message.app,
            queue: queue,
            priority: self.message.priority
        )
    }
}
