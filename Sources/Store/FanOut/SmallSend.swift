package import PushModel

/// A send of a group with all its devices.
package struct SmallSend: Sendable, Equatable {
    /// Its devices at one service.
    package struct Reach: Sendable, Equatable {
        package let pns: PushService
        package var devices = DeliverBatch.Devices()

        package init(pns: PushService) { self.pns = pns }
    }

    /// The registrations it reaches.
    package enum Audience: Sendable, Equatable {
        /// All its devices, each service once.
        case all([Reach])
        /// Too many for one step, or not to be read here.
        case large
    }

    /// Names the job within the store.
    package let sequence: Int64
    package let id: JobID
    package let request: SendRequest
    package let accepted: Timestamp
    package let expires: Timestamp
    package let startsAt: Timestamp?
    package let waiter: String?
    /// The request that asked for the job, if that is known.
    package let requestID: RequestID?
    package let audience: Audience
    /// Where its audience ends: the highest registration row when it was read, or the end of its list.
    package let through: Int64

    package init(
        sequence: Int64,
        id: JobID,
        request: SendRequest,
        accepted: Timestamp,
        expires: Timestamp,
        startsAt: Timestamp?,
        waiter: String?,
        requestID: RequestID? = nil,
        audience: Audience,
        through: Int64
    ) {
        self.sequence = sequence
        self.id = id
        self.request = request
        self.accepted = accepted
        self.expires = expires
        self.startsAt = startsAt
        self.waiter = waiter
        self.requestID = requestID
        self.audience = audience
        self.through = through
    }

    /// The most devices of a send in a group; about a hundred times as many are read at a time.
    package static let maximumDevices = 100

    /// From when on a time to live counts.
    package var begins: Timestamp { self.startsAt ?? self.accepted }
}
