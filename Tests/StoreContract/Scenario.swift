import NIOConcurrencyHelpers
package import PushModel
package import Store

/// What most tests need of a store: registered devices, accepted sends, batches.
package struct Scenario: RegisteringScenario {
    package let store: any ResultStore
    package var accepting: any JobOutbox { self.store }
    package var devices: any DeviceStore { self.store }
    package let time: TestTime
    private let outbox = NIOLockedValueBox(Outbox())

    /// The messages that jobs and batches were last seen in.
    private struct Outbox {
        var jobs: [JobID: OutboxMessage] = [:]
        var batches: [BatchKey: OutboxMessage] = [:]
    }

    /// A job that is being stopped is closed two leases after the stop: those of deliveries, the longest (rule 13).
    package static let closedAfterStop = WorkQueue.deliver(.apns).lease * 2 + .seconds(1)

    package init(_ fixture: any StoreFixture) { self.init(store: fixture.store, time: fixture.time) }

    package init(store: any ResultStore, time: TestTime) {
        self.store = store
        self.time = time
    }

    // MARK: Looking

    /// The counts of all services together.
    package func counts(_ id: JobID, app: AppID = .default) async throws -> DeliveryCounts {
        try await self.job(id, app: app).counts.values.reduce(into: DeliveryCounts()) { $0 += $1 }
    }

    /// How these batches stand, whichever message they are in.
    package func status(of batches: [BatchKey]) async throws -> [BatchStatus] {
        try await self.store.status(of: batches, in: nil).map(\.status)
    }

    /// Records one outcome.
    package func record(_ outcome: BatchOutcome) async throws -> Bool {
        try await self.store.record([outcome]).first == true
    }

    // MARK: Chores

    /// Ends jobs whose time is over.
    ///
    /// - Returns: How many jobs were touched.
    @discardableResult
    package func expireJobs(limit: Int = 10) async throws -> Int {
        try await self.store.perform(.expireJobs, limit: limit).rows
    }

    /// Queues scheduled jobs whose time has come.
    ///
    /// - Returns: How many.
    package func startScheduled(limit: Int = 10) async throws -> Int {
        try await self.store.perform(.startScheduled, limit: limit).rows
    }

    /// Prunes registrations whose handles push services called dead.
    ///
    /// - Returns: How many marks were taken.
    package func prune(limit: Int) async throws -> Int {
        try await self.store.perform(.pruneRegistrations, limit: limit).rows
    }

    /// Ends registrations whose time is over.
    ///
    /// - Returns: How many.
    @discardableResult
    package func expireRegistrations(limit: Int) async throws -> Int {
        try await self.store.perform(.expireRegistrations, limit: limit).rows
    }

    /// What does not add up, of all jobs.
    package func auditFaults() async throws -> [String] {
        try await self.store.audit(after: 0, limit: 1000).faults
    }

    // MARK: Messages

    /// The message that a job was last seen in.
    package func message(of job: JobID) throws -> OutboxMessage {
        guard let message = self.outbox.withLockedValue({ $0.jobs[job] }) else { throw Unexpected("no message") }
        return message
    }

    /// The message that a batch was last seen in.
    package func message(of batch: BatchKey) throws -> OutboxMessage {
        guard let message = self.outbox.withLockedValue({ $0.batches[batch] }) else { throw Unexpected("no message") }
        return message
    }

    package func note(_ message: OutboxMessage, jobs: [JobID]) { self.note(message, jobs: jobs, batches: []) }

    func note(_ message: OutboxMessage, jobs: [JobID] = [], batches: [BatchKey]) {
        self.outbox.withLockedValue { outbox in
            for job in jobs { outbox.jobs[job] = message }
            for batch in batches { outbox.batches[batch] = message }
        }
    }

    /// Who is a member of a register or send message and waits for its worker.
    package func jobs(of message: OutboxMessage) async throws -> [JobID] {
        switch message.queue {
        case .register: return try await self.store.registerJobs(of: message.id).map(\.id)
        case .send:
            guard let claim = try await self.store.claim(message.id, peeking: true) else { return [] }
            if case .campaign(let campaign) = claim.work { return [campaign.job.id] }
            return try await self.sends(of: claim).map(\.id)
        case .deliver: return []
        }
    }

    /// Takes the messages that are due, and remembers who is in them.
    package func takeDue(
        _ queues: Set<WorkQueue> = Set(WorkQueue.allCases),
        overdue: Duration = .zero,
        limit: Int = 100
    ) async throws -> [OutboxMessage] {
        let messages = try await self.store.takeDue(queues, overdue: overdue, limit: limit)
        for message in messages {
            if case .deliver = message.queue {
                self.note(message, batches: try await self.store.batches(of: message.id).map(\.key))
            } else {
                self.note(message, jobs: try await self.jobs(of: message))
            }
        }
        return messages
    }

    /// Takes what is due of register and send messages: the jobs in them.
    package func takeDueJobs(overdue: Duration = .zero, limit: Int = 100) async throws -> [JobID] {
        var jobs: [JobID] = []
        for message in try await self.takeDue([.register, .send], overdue: overdue, limit: limit) {
            jobs += try await self.jobs(of: message)
        }
        return jobs
    }

    /// Takes what is due of delivery messages: the batches in them.
    package func takeDueBatches(limit: Int = 100) async throws -> [DueBatch] {
        var batches: [DueBatch] = []
        let queues = Set(WorkQueue.allCases.filter { $0.kind == "deliver" })
        for message in try await self.takeDue(queues, limit: limit) {
            batches += try await self.store.batches(of: message.id)
        }
        return batches
    }

    /// A worker gives a batch's message back.
    @discardableResult
    package func deferBatch(_ batch: BatchKey, for pause: Duration, reason: String = "slow") async throws -> Bool {
        try await self.store.defer(
            self.message(of: batch).id,
            epoch: nil,
            Deferral(pause: pause, reason: WaitReason(reason))
        )
    }

    /// A message dies on its way.
    @discardableResult
    package func deadLetter(
        _ messageID: String,
        type: String = "deliver",
        app: AppID? = .default,
        body: [UInt8] = [1, 2]
    ) async throws -> [JobTrace] {
        try await self.store.deadLetter(
            IncomingDeadLetter(queue: "pushline.x", type: type, messageID: messageID, app: app, reason: "r", body: body)
        )
    }
}

extension NewJob {
    /// The same request once more, or with other work.
    package func again(work: Job.Work? = nil) -> NewJob {
        NewJob(
            app: self.app,
            user: self.user,
            key: self.key,
            priority: self.priority,
            work: work ?? self.work,
            lifetime: self.lifetime,
            waiter: self.waiter,
            idempotency: self.idempotency,
            startsAt: self.startsAt
        )
    }
}

extension ContentStore {
    /// Keeps content, however much there is.
    package func put(_ content: StoredContent, app: AppID) async throws -> String {
        let quota = AppSpec.Contents {
            $0.accountBytes = 1 << 50
            $0.appBytes = 1 << 50
        }
        guard case .kept(let id) = try await self.put(content, app: app, quota: quota) else {
            throw StoreError(.unavailable, "content was not kept")
        }
        return id
    }
}

extension RecipientList {
    /// Handles as somebody lists them: the first has the place 1 and the reference `ref-1`.
    package static func handles(_ handles: [(PushService, String)]) -> RecipientList {
        RecipientList(
            handles: handles.enumerated().map { index, device in
                Recipient(
                    place: index + 1,
                    pns: device.0,
                    handle: Handle(stored: device.1),
                    reference: "ref-\(index + 1)"
                )
            }
        )
    }

    /// So many handles, from `direct-1` on.
    package static func list(apns count: Int) -> RecipientList {
        .handles((1...count).map { (.apns, "direct-\($0)") })
    }
}

extension RegistrationStore {
    /// Begins an import.
    ///
    /// - Returns: Its sequence.
    package func beginImport() async throws -> Int64 {
        try await self.importRegistrations([], app: .default, sequence: nil, lifetime: nil).sequence
    }

    /// Does the change of a job, or a part of it, as a worker does whose app has no limits.
    package func register(_ job: Job) async throws -> RegisterResult? {
        guard case .register(let request) = job.work else { throw Unexpected("\(job)") }
        return try await self.register(request, of: RegisterJob(app: job.app, user: job.user, sequence: job.sequence))
    }
}
