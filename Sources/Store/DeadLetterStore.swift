package import PushModel

/// Messages that nobody could work on, and what is done about them (rule 6).
///
/// A message that names no declared app is the default app's.
package protocol DeadLetterStore: Sendable {
    /// Keeps a dead message, once, and in the same transaction closes the batch or job that it stood for: the devices of an open
    /// batch count as ``FailureClass/dead``, a register job is refused, a send job is abandoned.
    func deadLetter(_ message: IncomingDeadLetter) async throws

    /// An app's dead messages, newest first.
    ///
    /// - Parameters:
    ///   - app: The app.
    ///   - cursor: From the piece before.
    ///   - limit: The most, 1 to 1000.
    /// - Returns: A piece of the list.
    /// - Throws: ``StoreError``.
    func deadLetters(app: AppID, cursor: String?, limit: Int) async throws -> Page<DeadLetter>

    /// A dead message with its body, or nil when the app has none of that number.
    func deadLetter(_ id: Int64, app: AppID) async throws -> (letter: DeadLetter, body: [UInt8])?

    /// Has the work of a dead message be done again, once: the message is gone with that.
    ///
    /// The devices of a batch that count as dead are retried in its next attempt, which is due at once; those of a first attempt are
    /// the audience's within the page's range, and of devices that are no longer in it as many count as deregistered. A register
    /// job and a send job are queued again. A job that was final runs again.
    ///
    /// - Parameters:
    ///   - id: The dead letter's number.
    ///   - app: The app.
    /// - Returns: What came of it; nil when the app has none of that number (any more).
    /// - Throws: ``StoreError``; then nothing was changed.
    func replay(deadLetter id: Int64, app: AppID) async throws -> Replay?

    /// Removes a dead message; what its end in the dead queue counted stays.
    ///
    /// - Returns: The message that was removed, or nil when the app has none of that number.
    func discard(deadLetter id: Int64, app: AppID) async throws -> DeadLetter?
}

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
}

/// A kept message that nobody could work on.
package struct DeadLetter: Sendable, Equatable {
    package let id: Int64
    /// The app that it belongs to; nil = it names none that is declared.
    package let app: AppID?
    /// The queue it came from.
    package let queue: String
    package let type: String
    package let messageID: String
    /// The job that it closed, or a batch of it; nil where what it held goes on, or nobody knows what it was for.
    package let job: JobID?
    package let reason: String
    /// The bytes of its body.
    package let size: Int
    package let at: Timestamp
    /// Why it cannot be replayed now; nil = it can.
    package let blockedReason: String?

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
        blockedReason: String?
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
    }

}

/// What came of replaying a dead message.
package enum Replay: Sendable, Equatable {
    /// The job goes on; how many devices are retried, where it was a batch's message.
    case begun(job: JobID, devices: Int?)
    /// Nothing was changed, for that reason.
    case refused(String)
}
