/// How a send stands at a hub: the words that every official client of Azure Notification Hubs knows.
package enum HubSendState: String, Sendable {
    case enqueued = "Enqueued"
    case processing = "Processing"
    case completed = "Completed"
    case abandoned = "Abandoned"
    case noTargetFound = "NoTargetFound"
    case scheduled = "Scheduled"
    case canceled = "Canceled"
    case unknown = "Unknown"

    /// Reads a state; .NET has another spelling of one, and what nobody knows is unknown.
    package init(wire text: String) {
        self = text == "Cancelled" ? .canceled : HubSendState(rawValue: text) ?? .unknown
    }

    /// Whether it stays so.
    package var isFinal: Bool {
        switch self {
        case .completed, .abandoned, .noTargetFound, .canceled: true
        case .enqueued, .processing, .scheduled, .unknown: false
        }
    }

    /// The state of a job of the embedded hub.
    package init(_ job: Job) {
        self =
            switch job.state {
            case .scheduled: .scheduled
            case .queued: .enqueued
            case .running, .retrying, .cancelling, .expiring: .processing
            case .completed: job.isWithoutTargets ? .noTargetFound : .completed
            case .abandoned, .expired: .abandoned
            case .cancelled: .canceled
            }
    }
}

extension DeliveryCounts {
    /// A hub's word for a device whose service took the notification.
    package static let hubSuccess = "Success"

    /// The devices, by a hub's word for what became of them; those that are still to be sent to are left out.
    package var hubOutcomes: [String: Int] {
        var numbers = [Self.hubSuccess: self.accepted]
        for (failure, count) in self.failed { numbers[failure.hubOutcome, default: 0] += count }
        numbers["Dropped", default: 0] += self.expired + self.cancelled
        return numbers.filter { $0.value > 0 }
    }
}

extension FailureClass {
    /// A hub's word for it.
    package var hubOutcome: String {
        switch self {
        case .unregistered: "ExpiredChannel"
        case .rejected: "InvalidNotificationFormat"
        case .misconfigured: "InvalidCredentials"
        case .retiredService: "PnsUnavailable"
        case .deregistered: "Skipped"
        case .dead: "AbandonedNotificationMessages"
        case .unknown: "UnknownError"
        }
    }
}
