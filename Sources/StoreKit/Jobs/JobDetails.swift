package import PushModel
import Store

/// What is read of a store to show a job, beside its row.
package enum JobDetail: Sendable {
    case counts
    /// Of a send to templates, the devices that telemetry has apart.
    case platformCounts
    case cursors
    case waiting
    case deferral
    case paused
    case openServices
}

/// What there is of a job beside its row; what was not read is empty.
package struct JobDetails: Sendable {
    /// Its devices, by service and what became of them.
    package var counts: [PushService: DeliveryCounts] = [:]
    package var platformCounts: [String: DeliveryCounts] = [:]
    /// How far its audience is in batches, by service.
    package var cursors: [PushService: FanOutCursor] = [:]
    /// Of a register job what its message waits for that its worker deferred; of a send what the open batch waits for that is due first.
    ///
    /// Nil while a batch is at the broker or at a worker; a pause and a full window of the app give no reason.
    package var waiting: JobWaiting?
    /// What a batch of it waits for that a worker deferred.
    package var deferral: WaitReason?
    /// The queues in which its app's work is paused.
    package var paused: [WorkQueue] = []
    /// The services to which some of it goes and is not done; read only where something is paused.
    package var openServices: Set<PushService> = []

    package init() {}

    /// Adds the services that a message waits for, by its column `blocked_on`.
    package mutating func addServices(blockedOn bits: Int) {
        self.openServices.formUnion(BlockedOn(bits: bits).services)
    }
}

/// What a job waits for, and until when by the store's clock.
package struct JobWaiting: Sendable {
    let due: Int64
    let reason: WaitReason?

    package init(due: Int64, reason: WaitReason?) {
        self.due = due
        self.reason = reason
    }
}

/// How far an audience is in batches at a service.
package struct FanOutCursor: Sendable {
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
