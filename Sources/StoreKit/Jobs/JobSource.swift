package import PushModel
import Store

/// What is read of a store to show a job, beside its row.
package protocol JobSource {
    /// Its devices, by service and what became of them.
    func counts() throws -> [PushService: DeliveryCounts]

    /// Of a send to templates, the devices that telemetry has apart, by platform.
    func platformCounts() throws -> [String: DeliveryCounts]

    /// How far its audience is in batches, by service.
    func cursors() throws -> [PushService: FanOutCursor]

    /// Of a register job, what its message waits for that its worker deferred; a pause and a full window of the app give no reason.
    func deferral() throws -> JobWaiting?

    /// Whether a batch of it is at the broker or at a worker.
    func isInFlight() throws -> Bool

    /// Of its open batches, what the one waits for that is due first.
    func firstWaiting() throws -> JobWaiting?

    /// What a batch of it waits for that a worker deferred.
    func reasonOfDeferred() throws -> WaitReason?

    /// The queues in which its app's work is paused.
    func pausedQueues() throws -> [WorkQueue]

    /// Whether some of it goes to that service and is not done.
    func isOpen(at pns: PushService) throws -> Bool
}

/// What a job waits for, and until when by the store's clock.
package struct JobWaiting {
    let due: Int64
    let reason: WaitReason?

    package init(due: Int64, reason: WaitReason?) {
        self.due = due
        self.reason = reason
    }
}

/// How far an audience is in batches at a service.
package struct FanOutCursor {
    let after: Int64
    let through: Int64
    let isDone: Bool
    let devices: Int

    package init(after: Int64, through: Int64, isDone: Bool, devices: Int) {
        self.after = after
        self.through = through
        self.isDone = isDone
        self.devices = devices
    }
}
