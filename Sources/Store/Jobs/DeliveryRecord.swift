package import PushModel

/// Which of a job's devices to list.
package struct DeliveryQuery: Sendable {
    package var job: JobID
    package var app: AppID
    package var outcome: DeliveryRecord.Outcome?
    package var pns: PushService?
    package var cursor: String?
    /// 1 to 1000.
    package var limit: Int

    package init(
        job: JobID,
        app: AppID,
        outcome: DeliveryRecord.Outcome? = nil,
        pns: PushService? = nil,
        cursor: String? = nil,
        limit: Int = 100
    ) {
        self.job = job
        self.app = app
        self.outcome = outcome
        self.pns = pns
        self.cursor = cursor
        self.limit = limit
    }
}

/// The outcome for one device.
package struct DeliveryRecord: Sendable, Equatable {
    /// The end of a device's way.
    package enum Outcome: Sendable, Equatable, Hashable {
        case accepted
        case failed(FailureClass)
    }

    package let pns: PushService
    package let row: Int64
    /// The place in the send's list, for a handle of one.
    package var place: Int? { Recipient.place(of: self.row) }
    /// The registration's id, while the store still has it.
    package let registration: RegistrationID?
    package let user: UserName?
    /// The sender's own name for a device of a list.
    package let reference: String?
    package let outcome: Outcome
    /// The push service's status, where it answered; 0 = none.
    package let status: Int
    /// The push service's own word for it.
    package let reason: String
    package let at: Timestamp
    /// Part of the notification (`apns-id`).
    package let notificationID: JobID

    package init(
        pns: PushService,
        row: Int64,
        registration: RegistrationID?,
        user: UserName?,
        reference: String? = nil,
        outcome: Outcome,
        status: Int,
        reason: String,
        at: Timestamp,
        notificationID: JobID
    ) {
        self.pns = pns
        self.row = row
        self.registration = registration
        self.user = user
        self.reference = reference
        self.outcome = outcome
        self.status = status
        self.reason = reason
        self.at = at
        self.notificationID = notificationID
    }
}
