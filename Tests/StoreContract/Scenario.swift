import NIOConcurrencyHelpers
package import PushModel
package import Store

/// What most tests need of a store: registered devices, accepted sends, batches.
package struct Scenario: Sendable {
    package let store: any ResultStore
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

    // MARK: Accepting

    package func send(to expression: TagExpression, platforms: [PushService] = []) -> SendRequest {
        SendRequest(audience: expression, platforms: platforms, content: .message(.init(title: "t", body: "b")))
    }

    /// A send that is fanned out page by page, however few have the tag: only sends to one tag share a message.
    package func campaign(to tag: String, platforms: [PushService] = []) throws -> SendRequest {
        self.send(
            to: .any([.tag(try Tag(tag, .folded)), .tag(try Tag("nobody-has-this", .folded))]),
            platforms: platforms
        )
    }

    package func accept(
        _ request: SendRequest,
        app: AppID = .default,
        priority: Priority = .normal,
        lifetime: Duration = .seconds(86400),
        waiter: String? = nil,
        user: UserName? = nil
    ) async throws -> Job {
        try await self.accept(
            NewJob(
                app: app,
                user: user,
                priority: priority,
                work: .send(request),
                lifetime: lifetime,
                waiter: waiter
            )
        )
    }

    /// Accepts a send to a list.
    package func accept(
        _ list: RecipientList,
        platforms: [PushService] = [],
        lifetime: Duration = .seconds(86_400),
        startsAt: Timestamp? = nil
    ) async throws -> Job {
        let send = SendRequest(to: .list(list.count), platforms: platforms, content: .message(.init(body: "b")))
        let work = Job.Work.send(send)
        return try await self.accept(
            NewJob(app: .default, work: work, lifetime: lifetime, startsAt: startsAt, recipients: list)
        )
    }

    /// Accepts one job, and remembers its message.
    package func accept(_ new: NewJob) async throws -> Job {
        let accepted = try await self.store.accept([new])
        guard case .accepted(let job) = accepted.answers.first else { throw Unexpected("\(accepted.answers)") }
        if let message = accepted.messages.first { self.note(message, jobs: [job.id]) }
        return job
    }

    /// The job that tells of a rich notification.
    package func job(
        of notification: NewRichNotification,
        app: AppID = .default,
        idempotency: NewJob.Idempotency? = nil
    ) throws -> NewJob {
        NewJob(
            app: app,
            user: notification.sender,
            work: .send(self.send(to: .tag(Tag(user: notification.addressee)))),
            lifetime: .seconds(3600),
            idempotency: idempotency,
            notification: notification
        )
    }

    /// Keeps a rich notification, with its job.
    ///
    /// - Returns: Its id.
    @discardableResult
    package func keep(_ notification: NewRichNotification, app: AppID = .default) async throws -> Int32 {
        _ = try await self.accept(self.job(of: notification, app: app))
        return notification.id
    }

    // MARK: Registering

    /// Registers a device as its app does: by asking for an id, and putting it.
    @discardableResult
    package func register(
        user: String,
        handle: String,
        pns: PushService = .apns,
        tags: [String] = [],
        app: AppID = .default,
        lifetime: Duration? = nil
    ) async throws -> RegistrationID {
        let candidate = RegistrationID.random()
        let issued = try await self.store.register(
            .issue(candidate: candidate, handles: [Handle(stored: handle)]),
            of: RegisterJob(app: app, sequence: try await self.sequence(app: app))
        )
        guard case .issued(let id)? = issued else { throw Unexpected(String(describing: issued)) }
        let result = try await self.upsert(
            id,
            user: user,
            handle: handle,
            pns: pns,
            tags: tags,
            app: app,
            lifetime: lifetime
        )
        guard result == .done else { throw Unexpected(String(describing: result)) }
        return id
    }

    /// A handle of a browser's endpoint, each time with other keys.
    package func browser(_ name: String) throws -> String {
        let subscription = WebPushSubscription(
            endpoint: try WebPushEndpoint("https://push.example.com/" + name),
            publicKey: (0..<65).map { $0 == 0 ? 4 : UInt8.random(in: .min ... .max) },
            authenticationSecret: (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        )
        return subscription.handle
    }

    package func upsert(
        _ id: RegistrationID,
        user: String?,
        handle: String,
        pns: PushService = .apns,
        tags: [String] = [],
        app: AppID = .default,
        sequence: Int64? = nil,
        lifetime: Duration? = nil
    ) async throws -> RegisterResult? {
        let number: Int64
        if let sequence { number = sequence } else { number = try await self.sequence(app: app) }
        return try await self.store.register(
            .upsert(id, .init(pns: pns, handle: Handle(stored: handle), tags: try tags.map { try Tag($0, .folded) })),
            of: RegisterJob(
                app: app,
                user: try user.map { try UserName($0, .folded) },
                sequence: number,
                lifetime: lifetime
            )
        )
    }

    /// The sequence of a new register job.
    package func sequence(app: AppID = .default) async throws -> Int64 {
        let new = NewJob(
            app: app,
            work: .register(.delete(.random())),
            lifetime: .seconds(86400)
        )
        let job = try await self.accept(new)
        _ = try await self.store.finishRegister(job.id, result: .done)
        return job.sequence
    }

    // MARK: Looking

    package func job(_ id: JobID, app: AppID = .default) async throws -> Job {
        guard let job = try await self.store.job(id, app: app) else { throw Unexpected("no job") }
        return job
    }

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

    func note(_ message: OutboxMessage, jobs: [JobID] = [], batches: [BatchKey] = []) {
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
    package func deadLetter(
        _ messageID: String,
        type: String = "deliver",
        app: AppID? = .default,
        body: [UInt8] = [1, 2]
    ) async throws {
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
