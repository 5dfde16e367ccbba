/// A piece of accepted work: a send, or a change to the registrations.
package struct Job: Sendable, Equatable {
    package let id: JobID
    /// The store's number for it: gives order where clocks cannot (rule 11).
    package let sequence: Int64
    package let app: AppID
    /// The user who asked, or nil where a backend's key did.
    package let user: UserName?
    /// The name of the key that asked, if one did.
    package let key: String?
    package let priority: Priority
    package let work: Work
    package let state: State
    /// The hub's own word, beside ``state``.
    package let hubState: HubState?
    /// What a register job came to.
    package let result: RegisterResult?
    /// Why an abandoned job was abandoned.
    package let reason: String?
    package let accepted: Timestamp
    package let started: Timestamp?
    package let finished: Timestamp?
    /// After this nothing is sent any more.
    package let expires: Timestamp
    /// When the next try of a retrying job is due, or a scheduled one starts.
    package let due: Timestamp?
    /// Counts by service; empty for a register job.
    package let tallies: [PushService: Tally]
    /// When it is to start; nil = at once.
    package let startsAt: Timestamp?
    /// How far a send that is not final is laid out; nil = nobody has begun.
    package let plan: Plan?

    package init(
        id: JobID,
        sequence: Int64,
        app: AppID,
        user: UserName?,
        key: String?,
        priority: Priority,
        work: Work,
        state: State,
        hubState: HubState?,
        result: RegisterResult?,
        reason: String?,
        accepted: Timestamp,
        started: Timestamp?,
        finished: Timestamp?,
        expires: Timestamp,
        due: Timestamp?,
        tallies: [PushService: Tally],
        startsAt: Timestamp? = nil,
        plan: Plan? = nil
    ) {
        self.id = id
        self.sequence = sequence
        self.app = app
        self.user = user
        self.key = key
        self.priority = priority
        self.work = work
        self.state = state
        self.hubState = hubState
        self.result = result
        self.reason = reason
        self.accepted = accepted
        self.started = started
        self.finished = finished
        self.expires = expires
        self.due = due
        self.tallies = tallies
        self.startsAt = startsAt
        self.plan = plan
    }

    /// From when on a time to live counts.
    package var begins: Timestamp { self.startsAt ?? self.accepted }

    /// How far a send is laid out in batches, for each service.
    package struct Plan: Sendable, Equatable {
        package let lanes: [PushService: Lane]

        package init(_ lanes: [PushService: Lane]) { self.lanes = lanes }

        /// Devices in its batches so far, as they were planned.
        package var devices: Int { self.lanes.values.reduce(0) { $0 + $1.devices } }

        /// How many there will be in all; nil = too early to tell.
        package var estimate: Int? {
            self.lanes.values.reduce(0) { sum, lane in
                guard let sum, let estimate = lane.estimate else { return nil }
                return sum + estimate
            }
        }

        /// How far it is laid out for one service.
        package struct Lane: Sendable, Equatable {
            /// Devices in its batches so far, as they were planned.
            package let devices: Int
            /// How many there will be in all: counted when all is laid out, before that guessed from how far planning has come;
            /// nil = too early to tell.
            package let estimate: Int?

            package init(devices: Int, estimate: Int?) {
                self.devices = devices
                self.estimate = estimate
            }
        }
    }

    /// What is to be done.
    package indirect enum Work: Codable, Sendable, Equatable {
        case register(RegisterRequest)
        case send(SendRequest)

        /// The queue family and the envelope's `type`.
        package var kind: JobKind {
            switch self {
            case .register: .register
            case .send: .send
            }
        }

        /// The work as its job tells it.
        package var abridged: Work {
            guard case .send(let send) = self else { return self }
            let told = send.abridged
            // Nearly always nothing is left out.
            return told.omitted == send.omitted ? self : .send(told)
        }
    }

    /// Where a job stands.
    package enum State: String, Codable, Sendable, CaseIterable {
        /// Accepted, to start later.
        case scheduled
        /// Accepted, not yet taken by a worker.
        case queued
        /// Being planned or delivered.
        case running
        /// Everything that is still open waits for its next try.
        case retrying
        /// A user stopped it; what is out is being counted.
        case cancelling
        /// Its time is over; what is out is being counted.
        case expiring
        /// Every target is accounted for, whatever came of them.
        case completed
        /// The hub took nothing.
        case abandoned
        case cancelled
        case expired

        /// Nothing changes any more.
        package var isFinal: Bool {
            switch self {
            case .completed, .abandoned, .cancelled, .expired: true
            case .scheduled, .queued, .running, .retrying, .cancelling, .expiring: false
            }
        }

        /// Somebody stopped it, or its time: devices may be left that were never laid out in batches.
        package var isStopped: Bool {
            switch self {
            case .cancelling, .expiring, .cancelled, .expired: true
            case .scheduled, .queued, .running, .retrying, .completed, .abandoned: false
            }
        }
    }

    /// A hub's outcome state, in the words of Azure Notification Hubs.
    package enum HubState: String, Codable, Sendable {
        case enqueued = "Enqueued"
        case processing = "Processing"
        case completed = "Completed"
        case abandoned = "Abandoned"
        case unknown = "Unknown"
        case noTargetFound = "NoTargetFound"
        case detailedStateAvailable = "DetailedStateAvailable"
    }
}

/// The family of a job: the envelope's `type` and the queues it goes through.
package enum JobKind: String, Codable, Sendable, CaseIterable {
    case register
    case send
}

/// Counts of devices.
///
/// In a finished job, ``targets`` = ``accounted``.
package struct Tally: Codable, Sendable, Equatable {
    /// Devices that the job was for.
    package var targets: Int = 0
    /// Taken over by the push service.
    package var accepted: Int = 0
    /// Failed for good, by class.
    package var failed: [FailureClass: Int] = [:]
    /// Not sent: the job's time was over.
    package var expired: Int = 0
    /// Not sent: the job was stopped.
    package var cancelled: Int = 0

    package init() {}

    /// Devices whose outcome is known.
    package var accounted: Int { self.reached + self.expired + self.cancelled }

    /// Devices for which a push service was asked, or would have been if it could.
    package var reached: Int { self.accepted + self.failed.values.reduce(0, +) }

    package static func += (lhs: inout Tally, rhs: Tally) {
        lhs.targets += rhs.targets
        lhs.accepted += rhs.accepted
        lhs.failed.merge(rhs.failed, uniquingKeysWith: +)
        lhs.expired += rhs.expired
        lhs.cancelled += rhs.cancelled
    }
}

/// Why a device was not reached.
package enum FailureClass: String, Codable, Sendable, CaseIterable, CodingKeyRepresentable {
    /// The push service says that the handle is dead; the registration is pruned.
    case unregistered
    /// The push service refuses this message.
    case rejected
    /// The app's credentials or settings are refused: nothing of the app gets through.
    case misconfigured
    /// The service is switched off for good.
    case retiredService = "retired-service"
    /// The registration went away between two tries.
    case deregistered
    /// The message that carried the device could not be worked on.
    case dead
    /// No answer came after the request had left, and trying again was not allowed.
    case unknown
}
