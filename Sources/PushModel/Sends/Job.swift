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
    package var state: State
    /// The result of a register job.
    package let result: RegisterResult?
    /// Why it was abandoned, or what it waits for.
    package var reason: String?
    /// Why its app's messages wait, where it waits for that.
    package var cause: BreakerCause?
    package let accepted: Timestamp
    package let started: Timestamp?
    package let finished: Timestamp?
    /// After this nothing is sent any more.
    package let expires: Timestamp
    /// When the next try of a retrying job is due, or a scheduled one starts.
    package var due: Timestamp?
    /// Counts by service; empty for a register job.
    package var counts: [PushService: DeliveryCounts]
    /// Of a send to templates, those among them that were registered for another platform of the wire than their service's.
    package var platformCounts: [String: DeliveryCounts]
    /// When it is to start; nil = at once.
    package let startsAt: Timestamp?
    /// The progress of the fan-out of a running send; nil = not begun.
    package var progress: Progress?
    /// The sender's own name for it.
    package let label: JobLabel?
    /// The request that asked for it; nil = it is not known.
    package let request: RequestID?

    package init(
        id: JobID,
        sequence: Int64,
        app: AppID,
        user: UserName?,
        key: String?,
        priority: Priority,
        work: Work,
        state: State,
        result: RegisterResult?,
        reason: String?,
        accepted: Timestamp,
        started: Timestamp?,
        finished: Timestamp?,
        expires: Timestamp,
        due: Timestamp? = nil,
        counts: [PushService: DeliveryCounts] = [:],
        platformCounts: [String: DeliveryCounts] = [:],
        startsAt: Timestamp? = nil,
        progress: Progress? = nil,
        cause: BreakerCause? = nil,
        label: JobLabel? = nil,
        request: RequestID? = nil
    ) {
        self.id = id
        self.sequence = sequence
        self.app = app
        self.user = user
        self.key = key
        self.priority = priority
        self.work = work
        self.state = state
        self.result = result
        self.reason = reason
        self.cause = cause
        self.accepted = accepted
        self.started = started
        self.finished = finished
        self.expires = expires
        self.due = due
        self.counts = counts
        self.platformCounts = platformCounts
        self.startsAt = startsAt
        self.progress = progress
        self.label = label
        self.request = request
    }

    package var trace: JobTrace { JobTrace(self.id, request: self.request) }

    /// From when on a time to live counts.
    package var begins: Timestamp { self.startsAt ?? self.accepted }

    /// Whether the hub has answered: it has looked for a send's devices, or has made a registration's change.
    package var isAnswered: Bool {
        switch self.work {
        case .register: self.state.isFinal
        case .send: self.state != .scheduled && self.state != .queued
        }
    }

    /// Whether a send is over because nobody was there.
    package var isWithoutTargets: Bool {
        self.work.kind == .send && self.state == .completed && self.counts.values.allSatisfy { $0.targets == 0 }
    }

    /// How far a send is fanned out in batches, for each service.
    package struct Progress: Sendable, Equatable {
        package let services: [PushService: Service]

        package init(_ services: [PushService: Service]) { self.services = services }

        /// Devices in its batches so far, as they were when those were written.
        package var devices: Int { self.services.values.reduce(0) { $0 + $1.devices } }

        /// The expected total; nil = too early to estimate.
        package var estimate: Int? {
            self.services.values.reduce(0) { sum, service in
                guard let sum, let estimate = service.estimate else { return nil }
                return sum + estimate
            }
        }

        /// How far it is fanned out for one service.
        package struct Service: Sendable, Equatable {
            /// Devices in its batches so far, as they were when those were written.
            package let devices: Int
            /// The expected total: exact once all devices are in batches, before that estimated from the fan-out's
            /// position; nil = too early to estimate.
            package let estimate: Int?

            package init(devices: Int, estimate: Int?) {
                self.devices = devices
                self.estimate = estimate
            }
        }
    }

    /// The work of a job.
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

        /// The work as its job shows it.
        package var preview: Work {
            guard case .send(let send) = self else { return self }
            let preview = send.preview
            // Nearly always nothing is left out.
            return preview.truncatedTags == send.truncatedTags ? self : .send(preview)
        }
    }

    /// Where a job stands.
    package enum State: String, Codable, Sendable, CaseIterable {
        /// Accepted, to start later.
        case scheduled
        /// Accepted, not yet taken by a worker.
        case queued
        /// Being fanned out or delivered.
        case running
        /// Everything that is still open waits for its next try.
        case retrying
        /// Cancelled by a user; devices in progress are still being counted.
        case cancelling
        /// Expired; devices in progress are still being counted.
        case expiring
        /// Every target is accounted for, with any outcome.
        case completed
        /// The hub rejected a send.
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

        /// Somebody stopped it, or its time: devices may be left that are in no batch.
        package var isStopped: Bool {
            switch self {
            case .cancelling, .expiring, .cancelled, .expired: true
            case .scheduled, .queued, .running, .retrying, .completed, .abandoned: false
            }
        }
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
package struct DeliveryCounts: Codable, Sendable, Equatable {
    /// Devices that the job was for.
    package var targets: Int = 0
    /// Accepted by the push service.
    package var accepted: Int = 0
    /// Failed for good, by class.
    package var failed: [FailureClass: Int] = [:]
    /// Not sent: the job's time was over.
    package var expired: Int = 0
    /// Not sent: the job was stopped.
    package var cancelled: Int = 0

    package init() {}

    /// Devices with an outcome.
    package var accounted: Int { self.reached + self.expired + self.cancelled }

    /// Devices for which a push service was asked, or would have been if it could.
    package var reached: Int { self.accepted + self.failed.values.reduce(0, +) }

    package static func += (lhs: inout DeliveryCounts, rhs: DeliveryCounts) {
        lhs.targets += rhs.targets
        lhs.accepted += rhs.accepted
        lhs.failed.merge(rhs.failed, uniquingKeysWith: +)
        lhs.expired += rhs.expired
        lhs.cancelled += rhs.cancelled
    }
}

/// Why a device was not reached.
package enum FailureClass: String, Codable, Sendable, CaseIterable, CodingKeyRepresentable {
    /// The push service reported the handle as dead; the registration is pruned.
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
