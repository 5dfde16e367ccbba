package import PushModel

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
    /// The routing key of the process that waits for the job; nil = none (rule 16).
    package let waiter: String?
    package let idempotency: Idempotency?
    /// When it is to start, by the wall clock; nil or past = at once.
    package let startsAt: Timestamp?
    /// The rich notification to store with it.
    package let notification: NewRichNotification?
    /// The sender's own name for it.
    package let label: JobLabel?
    /// The list of a send that names its devices one by one.
    package let recipients: RecipientList?
    /// The request that asks for it; nil = it is not known.
    package let request: RequestID?
    /// The act that its acceptance is, of a user's removal; nil = none that is kept.
    package let act: NewAct?

    /// The lifetime of a user's removal: longer than any queue is paused, for one that expired would be half done (decision 33).
    package static let removalLifetime = Duration.seconds(3650 * 86_400)

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
        notification: NewRichNotification? = nil,
        label: JobLabel? = nil,
        recipients: RecipientList? = nil,
        request: RequestID? = nil,
        act: NewAct? = nil
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
        self.label = label
        self.recipients = recipients
        self.request = request
        self.act = act
    }

    /// The same job, with the routing key of the process that waits for its answer.
    package func waited(by waiter: String) -> NewJob { self.with(waiter: waiter, work: self.work) }

    /// The same job with other work.
    package func with(work: Job.Work) -> NewJob { self.with(waiter: self.waiter, work: work) }

    private func with(waiter: String?, work: Job.Work) -> NewJob {
        NewJob(
            id: self.id,
            app: self.app,
            user: self.user,
            key: self.key,
            priority: self.priority,
            work: work,
            lifetime: self.lifetime,
            waiter: waiter,
            idempotency: self.idempotency,
            startsAt: self.startsAt,
            notification: self.notification,
            label: self.label,
            recipients: self.recipients,
            request: self.request,
            act: self.act
        )
    }

    /// The end of its lifetime, by the wall clock at its acceptance.
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
            result: nil,
            reason: nil,
            accepted: accepted,
            started: nil,
            finished: nil,
            expires: self.expires(accepted: accepted),
            due: state == .scheduled ? self.startsAt : nil,
            counts: [:],
            startsAt: self.startsAt,
            label: self.label,
            request: self.request
        )
    }

    /// The identity of a request and its repeats (rule 17).
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
