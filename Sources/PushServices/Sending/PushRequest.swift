package import Payloads
package import PushModel

/// A sender's work: one payload for the devices of a batch or for some of them; or several payloads, one for each
/// device.
package struct PushRequest: Sendable {
    package var payload: NativePayload
    /// Gives each device's notification its id (rule 10).
    package var job: JobID
    package var priority: Priority
    /// As in ``DeliverBatch/keepUntil``.
    package var keepUntil: Timestamp?
    package var collapse: String?
    package var devices: DeliverBatch.Devices
    /// The payloads of devices that do not all get the same; empty = all get ``payload`` of ``job``.
    ///
    /// All are of ``payload``'s kind, and have its headers.
    package var messages: [Message] = []
    /// Which of ``messages`` each device gets.
    package var messageOf: [Int] = []
    /// Which of ``devices`` to try, by index.
    package var indexes: [Int]
    /// When ``PushSender/send(_:)`` has returned at the latest.
    package var deadline: ContinuousClock.Instant
    /// Called often while sending, from any thread, and must not block: true withdraws unsent requests.
    package var isStopped: @Sendable () -> Bool
    /// Whether no device is to get it; a service that does not validate dry runs is not asked.
    package var isDryRun = false

    package init(
        payload: NativePayload,
        job: JobID,
        priority: Priority = .normal,
        keepUntil: Timestamp? = nil,
        collapse: String? = nil,
        devices: DeliverBatch.Devices,
        indexes: [Int]? = nil,
        deadline: ContinuousClock.Instant,
        isStopped: @escaping @Sendable () -> Bool = { false }
    ) {
        self.payload = payload
        self.job = job
        self.priority = priority
        self.keepUntil = keepUntil
        self.collapse = collapse
        self.devices = devices
        self.indexes = indexes ?? Array(0..<devices.count)
        self.deadline = deadline
        self.isStopped = isStopped
    }

    /// One of several messages that are sent together.
    package struct Message: Sendable, Equatable {
        package let job: JobID
        /// The payload's bytes.
        package let body: [UInt8]

        package init(job: JobID, body: [UInt8]) {
            self.job = job
            self.body = body
        }
    }

    /// The headers of all its requests.
    package var headers: PushHeaders {
        PushHeaders(self.payload, priority: self.priority, keepUntil: self.keepUntil, collapse: self.collapse)
    }

    /// The job that a device's message is of.
    package func job(of device: Int) -> JobID {
        self.messages.isEmpty ? self.job : self.messages[self.messageOf[device]].job
    }

    /// The payload of a device.
    package func body(of device: Int) -> [UInt8] {
        self.messages.isEmpty ? self.payload.body : self.messages[self.messageOf[device]].body
    }
}
