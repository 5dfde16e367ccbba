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
    private var deliveries: [Delivery?]
    private var window: JobWindow

    /// A delivery message that is being filled.
    private struct Delivery {
        let id: Int64
        let queue: WorkQueue
        let first: Int64
        var last: Int64
        var batches = 0
        var devices = 0
    }

    init(context: WriteContext, claim: FanOutClaim, step: GroupStep, window: InFlightWindow) throws {
        self.context = context
        self.claim = claim
        self.step = step
        self.deliveries = Array(repeating: nil, count: step.messages)
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
        guard isMember, let row = try database.jobRow(sequence: job), case .send(let request) = row.work else {
            return false
        }
        for cursor in try database.newCursors(for: request, job: job) { try self.context.insert(cursor, of: job) }
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
        let message = try only.map { try self.delivery(for: $0, of: job).id }
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
    private mutating func delivery(for batch: SinglePage, of job: Int64) throws -> Delivery {
        guard self.deliveries.indices.contains(batch.message) else {
            throw StoreError(.corrupt, "a batch in a message that the step does not have")
        }
        if let begun = self.deliveries[batch.message] { return begun }
        let priority = self.claim.message.priority
        let id = try self.context.insertDelivery(at: batch.pns, of: job, app: self.app, priority, members: 0, size: 0)
        let delivery = Delivery(id: id, queue: .deliver(batch.pns), first: job, last: job)
        self.deliveries[batch.message] = delivery
        return delivery
    }

    private mutating func put(_ batch: SinglePage, of job: Int64, through: Int64, isInline: Bool) throws {
        var delivery = try self.delivery(for: batch, of: job)
        delivery.last = job
        delivery.batches += 1
        delivery.devices += batch.size
        self.deliveries[batch.message] = delivery
        guard !isInline else { return }
        try self.batch.run(
            job,
            [batch.pns.number, 0, 0, Int(through), batch.size, Int(delivery.id), 0]
        )
    }

    /// - Returns: The delivery messages; nil where nothing is in one.
    private func finishDeliveries() throws -> [OutboxMessage?] {
        try self.deliveries.map { delivery in
            guard let delivery else { return nil }
            guard delivery.batches > 0 else {
                // Begun for a send that was lost.
                try self.context.database.run("DELETE FROM message WHERE id = ?", [delivery.id])
                return nil
            }
            try self.context.database.run(
                "UPDATE message SET first = ?, last = ?, open = ?, size = ? WHERE id = ?",
                [delivery.first, delivery.last, delivery.batches, delivery.devices, delivery.id]
            )
            return self.claim.newMessage(delivery.id, in: delivery.queue)
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

extension WriteContext {
    /// Writes the next pages of a campaign, each with a delivery message of its own.
    ///
    /// - Returns: nil when the job is no longer its message's.
    func write(_ step: PageStep, of claim: FanOutClaim) throws -> FanOutWritten? {
        let job = step.sequence
        let isLast = step.cursors.allSatisfy(\.isDone)
        let page = try PreparedTransition(.page, self)
        let (message, wall) = (claim.message.id.number, self.wall.milliseconds)
        guard try page.make(job, message, wall, isLast ? 1 : 0) else { return nil }
        let app = try self.database.ensureNumber(of: claim.message.app)
        let devices = step.batches.reduce(into: DeviceCount()) { $0.add($1.size, $1.named) }
        let priority = claim.message.priority
        let kind: CreditKind = step.batches.first?.page == 0 ? .first : .page
        guard try self.spend(devices, app: app, pns: step.pns, priority: priority, as: kind) else { throw NoCredit() }
        var written = FanOutWritten()
        for batch in step.batches {
            let message = try self.insert(batch, of: job, at: step.pns, app: app, priority: priority)
            written.deliveries.append(claim.newMessage(message, in: .deliver(step.pns)))
        }
        try self.move(step, devices: devices.all)
        guard isLast else { return written }
        self.leave(message: claim.message.id.number)
        try self.completeIfDone(job)
        written.isDone = true
        return written
    }

    private func insert(
        _ batch: FanOutPage,
        of job: Int64,
        at pns: PushService,
        app: Int64,
        priority: Priority
    ) throws -> Int64 {
        let message = try self.insertDelivery(at: pns, of: job, app: app, priority, members: 1, size: batch.size)
        let insert = try PreparedStatement(BatchTable.insert, in: self.database)
        try insert.run(
            job,
            [
                pns.number, batch.page, Int(batch.from), Int(batch.to), batch.size, Int(message),
                Int(batch.template ?? 0),
            ]
        )
        return message
    }

    /// Writes a delivery message that its process is about to publish.
    ///
    /// - Returns: Its number.
    fileprivate func insertDelivery(
        at pns: PushService,
        of job: Int64,
        app: Int64,
        _ priority: Priority,
        members: Int,
        size: Int
    ) throws -> Int64 {
        try self.insert(
            NewMessage(
                queue: .deliver(pns),
                app: app,
                priority: priority.rank,
                state: .published,
                due: self.now + OutboxMessage.grace.milliseconds,
                members: members,
                size: size,
                jobs: job...job
            )
        )
    }

    /// Moves the cursor of a step; the first step of a campaign writes all.
    private func move(_ step: PageStep, devices: Int) throws {
        if try !self.database.exists("SELECT 1 FROM cursor WHERE job = ?", [step.sequence]) {
            for cursor in step.cursors { try self.insert(cursor, of: step.sequence) }
        }
        guard let moved = step.cursors.first(where: { $0.pns == step.pns }) else {
            throw StoreError(.corrupt, "a step without its cursor")
        }
        try self.database.run(
            "UPDATE cursor SET after = ?, next_page = ?, done = ?, devices = devices + ? WHERE job = ? AND pns = ?",
            [moved.after, moved.nextPage, moved.isDone, devices, step.sequence, moved.pns.number]
        )
    }

    func insert(_ cursor: AudienceCursor, of job: Int64) throws {
        try self.database.run(
            "INSERT INTO cursor(job, pns, after, through, next_page, done, devices) VALUES (?, ?, ?, ?, ?, ?, 0)",
            [job, cursor.pns.number, cursor.after, cursor.through, cursor.nextPage, cursor.isDone]
        )
    }
}
