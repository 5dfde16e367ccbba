/// A message of the outbox: one row that stands for 1 to ``maximumMembers`` jobs or batches of an app, queue and priority.
///
/// A campaign is a message of one job, a burst of small sends a message of many; a page of a campaign is a delivery message of one
/// batch, the batches of a burst are one of many (rule 15).
package struct OutboxMessage: Sendable, Equatable {
    /// The most jobs or batches in one.
    package static let maximumMembers = 500

    package let id: MessageID
    package let app: AppID
    package let queue: WorkQueue
    package let priority: Priority
    /// The fencing token: raised by every claim, deferral and republication.
    ///
    /// A write that names an older one changes nothing.
    package let epoch: Int

    package init(id: MessageID, app: AppID, queue: WorkQueue, priority: Priority, epoch: Int = 0) {
        self.id = id
        self.app = app
        self.queue = queue
        self.priority = priority
        self.epoch = epoch
    }

    /// The same message under another fencing token.
    package func with(epoch: Int) -> OutboxMessage {
        OutboxMessage(id: self.id, app: self.app, queue: self.queue, priority: self.priority, epoch: epoch)
    }
}

/// Names a message of the outbox; the store never gives a number again.
package struct MessageID: Hashable, Sendable, CustomStringConvertible {
    /// The store's number, at least 1.
    package let number: Int64

    package init(number: Int64) { self.number = number }

    /// The `message-id` of its messages at the broker.
    package var description: String { "\(self.number)" }

    /// Reads ``description``; one text a number: no `+1`, no `007`.
    package init?(_ text: String) {
        guard let number = Int64(text), number > 0, text == "\(number)" else { return nil }
        self.init(number: number)
    }
}
