package import PushModel

/// A message that ended in the dead queue.
package struct IncomingDeadLetter: Sendable {
    /// The queue it came from.
    package let queue: String
    /// From its properties, never from its body.
    package let type: String
    package let messageID: String
    package let app: AppID?
    /// Why it died.
    package let reason: String
    package let body: [UInt8]

    package init(queue: String, type: String, messageID: String, app: AppID?, reason: String, body: [UInt8]) {
        self.queue = queue
        self.type = type
        self.messageID = messageID
        self.app = app
        self.reason = reason
        self.body = body
    }

    /// The body as it is kept (rule 6): that of a delivery message with shortened handles.
    ///
    /// A dead letter outlives the lists of sends, and a replay reads the handles anew. What cannot be read may hold whole ones, and is not
    /// kept.
    package var keptBody: [UInt8] {
        guard var message = try? DeliveryMessage(decoding: self.body) else { return [] }
        for index in message.batches.indices {
            let handles = message.batches[index].devices.handles
            message.batches[index].devices.handles = HandleList(
                (0..<handles.count).map { Handle(stored: handles.handle(at: $0).description) }
            )
        }
        return message.encoded()
    }
}

/// A stored message that no worker could process.
package struct DeadLetter: Sendable, Equatable {
    /// Its number among those of its app.
    package let id: Int64
    /// The app that it belongs to; nil = it names none that is declared.
    package let app: AppID?
    /// The queue it came from.
    package let queue: String
    package let type: String
    package let messageID: String
    /// The job that it closed, or whose batch it closed; nil if its work continues or is unknown.
    package let job: JobID?
    package let reason: String
    /// The bytes of the body that came.
    package let size: Int
    package let at: Timestamp
    /// Why it cannot be replayed now; nil = it can.
    package let blockedReason: String?
    /// What is kept of its body; nil in a list.
    package let body: [UInt8]?

    package init(
        id: Int64,
        app: AppID?,
        queue: String,
        type: String,
        messageID: String,
        job: JobID?,
        reason: String,
        size: Int,
        at: Timestamp,
        blockedReason: String?,
        body: [UInt8]? = nil
    ) {
        self.id = id
        self.app = app
        self.queue = queue
        self.type = type
        self.messageID = messageID
        self.job = job
        self.reason = reason
        self.size = size
        self.at = at
        self.blockedReason = blockedReason
        self.body = body
    }
}

/// The result of a replay.
package enum Replay: Sendable, Equatable {
    /// The job continues; for a batch's message, with the number of devices to retry.
    case begun(job: JobID, devices: Int?)
    /// Nothing was changed, for that reason.
    case refused(String)
}
