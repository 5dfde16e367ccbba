package import PushModel

/// A send that is fanned out page by page.
package struct Campaign: Sendable {
    package let job: Job
    /// The send; where its audience has many tags, it has the first of them.
    package let request: SendRequest
    /// The routing key of the process that waits for the job.
    package let waiter: String?
    /// One for each service that the send goes to.
    package var cursors: [AudienceCursor]
    package let memory: AudienceMemory

    package init(
        job: Job,
        request: SendRequest,
        waiter: String?,
        cursors: [AudienceCursor],
        memory: AudienceMemory = AudienceMemory()
    ) {
        self.job = job
        self.request = request
        self.waiter = waiter
        self.cursors = cursors
        self.memory = memory
    }
}

/// How far a campaign's audience is in batches, for one service.
package struct AudienceCursor: Sendable, Equatable {
    package let pns: PushService
    /// The last row in a batch.
    package var after: Int64
    /// The highest row that counts: the highest there was when the fan-out began.
    package let through: Int64
    package var nextPage: Int
    package var isDone: Bool

    package init(pns: PushService, after: Int64, through: Int64, nextPage: Int, isDone: Bool) {
        self.pns = pns
        self.after = after
        self.through = through
        self.nextPage = nextPage
        self.isDone = isDone
    }
}
