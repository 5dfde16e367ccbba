package import PushModel

/// Messages that nobody could work on (rule 6).
package protocol DeadStore: Sendable {
    /// Keeps a dead message, once, and in the same transaction closes the batch or job that it carried: the devices of an open
    /// batch count as ``FailureClass/dead``, a register job is refused, a send job is abandoned.
    func bury(_ message: DeadMessage) async throws
}

/// A message that ended in the dead queue.
package struct DeadMessage: Sendable {
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
}
