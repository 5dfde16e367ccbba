package import PushModel

/// The result of accepting several jobs.
package struct AcceptedJobs: Sendable {
    /// The result for each job, in order.
    package var answers: [JobAcceptance]
    /// New ones, to be published; those that small sends share are the last.
    package var messages: [OutboxMessage]
    /// New ones that the sweeper publishes, for their app's window has no room for them.
    package var deferred: [OutboxMessage]
    /// The spans that new messages come from: of each the first that its jobs' requests have; a message of none that is recorded has none.
    package var spans: [MessageID: SpanContext] = [:]

    package init(
        answers: [JobAcceptance] = [],
        messages: [OutboxMessage] = [],
        deferred: [OutboxMessage] = []
    ) {
        self.answers = answers
        self.messages = messages
        self.deferred = deferred
    }
}

/// The result of accepting a job.
package enum JobAcceptance: Sendable, Equatable {
    /// It is new and durable.
    indirect case accepted(Job)
    /// The same request was accepted before, as that job.
    case repeated(JobID)
    /// The idempotency key was used for another request.
    case keyReused
    /// The backlog is full: the limit on unfinished or scheduled jobs is reached.
    case backlogFull
}
