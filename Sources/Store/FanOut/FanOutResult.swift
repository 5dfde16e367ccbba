package import PushModel

/// The result of a step.
package enum FanOutResult: Sendable, Equatable {
    /// Written.
    case written(FanOutWritten)
    /// Another fan-out was faster and has used up a rate limit: nothing was written.
    case noCredit
    /// Other sends have joined the one of a message that was only peeked at: nothing was written, and it is to be claimed.
    case joined
    /// Someone else has claimed the message, or its job was stopped: nothing was written.
    case lost
}

/// The rows written by a step.
package struct FanOutWritten: Sendable, Equatable {
    /// The step's delivery messages in their order; nil if nothing is in one.
    package var deliveries: [OutboxMessage?]
    /// Messages of sends that go on alone, to be published; without those for which their app's window has no room.
    package var ownMessages: [OutboxMessage]
    /// Sends of a group, by number, that were skipped because they were stopped.
    package var lost: Set<Int64>
    /// Whether the message is done with.
    package var isDone: Bool
    /// Of a send that is abandoned: the routing key of the process that waits, if one does and this step has ended the job.
    package var waiter: String?

    package init(
        deliveries: [OutboxMessage?] = [],
        ownMessages: [OutboxMessage] = [],
        lost: Set<Int64> = [],
        isDone: Bool = false,
        waiter: String? = nil
    ) {
        self.deliveries = deliveries
        self.ownMessages = ownMessages
        self.lost = lost
        self.isDone = isDone
        self.waiter = waiter
    }
}
