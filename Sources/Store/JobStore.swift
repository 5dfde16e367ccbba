package import PushModel

/// Accepting jobs, and telling what became of them.
package protocol JobStore: Sendable {
    /// The job in its present state, or nil when the app has none of that id.
    func job(_ id: JobID, app: AppID) async throws -> Job?

    /// Those of a few jobs that are there, in one read, whichever app they belong to: for a process that waits for them.
    func jobs(_ ids: [JobID]) async throws -> [Job]

    /// Jobs, newest first.
    func jobs(_ query: JobQuery) async throws -> Page<Job>

    /// The devices that a job lists one by one, in the order of recording.
    func deliveries(_ query: DeliveryQuery) async throws -> Page<DeliveryRecord>

    /// The register jobs of a message that are not finished, in the order of their acceptance.
    func registerJobs(of message: MessageID) async throws -> [Job]

    /// Ends a register job.
    ///
    /// - Returns: The routing key of the process that waits for it, if one does; nil also when it was ended before.
    func finishRegister(_ id: JobID, result: RegisterResult) async throws -> String?

    /// Stops a job that runs (rule 13).
    ///
    /// - Returns: The job as it is then, or nil when there is none; a final job is returned unchanged.
    func cancel(_ id: JobID, app: AppID) async throws -> Job?
}

/// A job that is to be accepted.
///
/// Made once and held by all who carry it: as a value it would be copied at each of a dozen steps.
package final class NewJob: Sendable {
    package let id: JobID
    package let app: AppID
    package let user: UserName?
    /// The name of the key that asked, if one did.
    package let key: String?
    package let priority: Priority
    package let work: Job.Work
    /// How long it lives, from its acceptance or its start on: a length, for the wall clock may jump before it is accepted.
    package let lifetime: Duration
    /// The routing key of the process that waits for the hub's answer; nil = nobody does (rule 16).
    package let waiter: String?
    package let idempotency: Idempotency?
    /// When it is to start, by the wall clock; nil or past = at once.
    package let startsAt: Timestamp?
    /// What it tells of, where that is to be kept with it.
    package let notification: NewRichNotification?

    package init(
        id: JobID = .make(),
        app: AppID,
        user: UserName? = nil,
        key: String? = nil,
        priority: Priority = .normal,
        work: Job.Work,
        lifetime: Duration,
        waiter: String? = nil,
        idempotency: Idempotency? = nil,
        startsAt: Timestamp? = nil,
        notification: NewRichNotification? = nil
    ) {
        self.id = id
        self.app = app
        self.user = user
        self.key = key
        self.priority = priority
        self.work = work
        self.lifetime = lifetime
        self.waiter = waiter
        self.idempotency = idempotency
        self.startsAt = startsAt
        self.notification = notification
    }

    /// The same job, for whose answer the process waits that has this routing key.
    package func waited(by waiter: String) -> NewJob {
        NewJob(
            id: self.id,
            app: self.app,
            user: self.user,
            key: self.key,
            priority: self.priority,
            work: self.work,
            lifetime: self.lifetime,
            waiter: waiter,
            idempotency: self.idempotency,
            startsAt: self.startsAt,
            notification: self.notification
        )
    }

    /// When its time is over, by the wall clock as it is at its acceptance.
    package func expires(accepted: Timestamp) -> Timestamp {
        max(accepted, self.startsAt ?? accepted).advanced(by: self.lifetime)
    }

    /// The job that it becomes.
    ///
    /// - Parameters:
    ///   - sequence: The store's number for it.
    ///   - accepted: The time of its acceptance.
    ///   - state: ``Job/State/queued``, or ``Job/State/scheduled`` where it starts later.
    /// - Returns: The job, with nothing done of it.
    package func job(sequence: Int64, accepted: Timestamp, state: Job.State) -> Job {
        Job(
            id: self.id,
            sequence: sequence,
            app: self.app,
            user: self.user,
            key: self.key,
            priority: self.priority,
            work: self.work.preview,
            state: state,
            hubState: nil,
            result: nil,
            reason: nil,
            accepted: accepted,
            started: nil,
            finished: nil,
            expires: self.expires(accepted: accepted),
            due: state == .scheduled ? self.startsAt : nil,
            counts: [:],
            startsAt: self.startsAt
        )
    }

    /// What makes a request and its repeat the same (rule 17).
    package struct Idempotency: Sendable, Equatable {
        /// Account or key, with its kind: two callers never share keys.
        package var caller: String
        package var route: String
        package var key: String
        /// SHA-256 over path, query and raw body.
        package var hash: [UInt8]

        package init(caller: String, route: String, key: String, hash: [UInt8]) {
            self.caller = caller
            self.route = route
            self.key = key
            self.hash = hash
        }
    }
}

/// Which jobs to list.
package struct JobQuery: Sendable {
    package var app: AppID
    package var state: Job.State?
    package var pns: PushService?
    package var user: UserName?
    package var key: String?
    package var kind: JobKind?
    package var since: Timestamp?
    package var cursor: String?
    /// 1 to 1000.
    package var limit: Int

    package init(
        app: AppID,
        state: Job.State? = nil,
        pns: PushService? = nil,
        user: UserName? = nil,
        key: String? = nil,
        kind: JobKind? = nil,
        since: Timestamp? = nil,
        cursor: String? = nil,
        limit: Int = 100
    ) {
        self.app = app
        self.state = state
        self.pns = pns
        self.user = user
        self.key = key
        self.kind = kind
        self.since = since
        self.cursor = cursor
        self.limit = limit
    }
}

/// Which of a job's devices to list.
package struct DeliveryQuery: Sendable {
    package var job: JobID
    package var app: AppID
    package var outcome: DeliveryRecord.Outcome?
    package var pns: PushService?
    package var cursor: String?
    /// 1 to 1000.
    package var limit: Int

    package init(
        job: JobID,
        app: AppID,
        outcome: DeliveryRecord.Outcome? = nil,
        pns: PushService? = nil,
        cursor: String? = nil,
        limit: Int = 100
    ) {
        self.job = job
        self.app = app
        self.outcome = outcome
        self.pns = pns
        self.cursor = cursor
        self.limit = limit
    }
}

/// What became of one device.
package struct DeliveryRecord: Sendable, Equatable {
    /// The end of a device's way.
    package enum Outcome: Sendable, Equatable, Hashable {
        case accepted
        case failed(FailureClass)
    }

    package let pns: PushService
    package let row: Int64
    /// The registration's id, while the store still has it.
    package let registration: RegistrationID?
    package let user: UserName?
    package let outcome: Outcome
    /// The push service's status, where it answered; 0 = none.
    package let status: Int
    /// The push service's own word for it.
    package let reason: String
    package let at: Timestamp
    /// Part of the notification (`apns-id`).
    package let notificationID: JobID

    package init(
        pns: PushService,
        row: Int64,
        registration: RegistrationID?,
        user: UserName?,
        outcome: Outcome,
        status: Int,
        reason: String,
        at: Timestamp,
        notificationID: JobID
    ) {
        self.pns = pns
        self.row = row
        self.registration = registration
        self.user = user
        self.outcome = outcome
        self.status = status
        self.reason = reason
        self.at = at
        self.notificationID = notificationID
    }
}
