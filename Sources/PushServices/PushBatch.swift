package import PushModel

/// What a sender is asked to deliver: one payload to the devices of a batch, or to some of them.
package struct PushBatch: Sendable {
    package var payload: NativePayload
    /// Gives each device's notification its id (rule 10).
    package var job: JobID
    package var priority: Priority
    /// As in ``DeliverBatch/keepUntil``.
    package var keepUntil: Timestamp?
    package var collapse: String?
    package var devices: DeliverBatch.Devices
    /// Which of ``devices`` to try, by index.
    package var indexes: [Int]
    /// When ``PushSender/send(_:)`` has returned at the latest.
    package var deadline: ContinuousClock.Instant
    /// Asked often while sending, from any thread, and must not block: true withdraws what was not sent yet.
    package var isStopped: @Sendable () -> Bool

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
}
