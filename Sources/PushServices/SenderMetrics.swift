import Metrics
import NIOConcurrencyHelpers
import PushModel
import PushlineMetrics

/// A sender's metrics, by service; never by app or device.
struct SenderMetrics: Sendable {
    private let requests: [String: Counter]
    private let batchDuration: Timer
    private let requestDuration: Timer
    private let connections: Meter
    /// How many this sender has added to ``connections``, which all of its service share.
    private let counted = NIOLockedValueBox(0)
    private let answers = NIOLockedValueBox(0)

    init(pns: PushService) {
        let classes = ["accepted", "retry", "dead", "rejected", "misconfigured", "unsent", "unanswered"]
        let service = pns.rawValue
        self.requests = Dictionary(
            uniqueKeysWithValues: classes.map { name in
                (name, MetricDescription.pushRequests.counter([.service: service, .answerClass: name]))
            }
        )
        self.batchDuration = MetricDescription.pushBatchDuration.timer([.service: service])
        self.requestDuration = MetricDescription.pushRequestDuration.timer([.service: service])
        self.connections = MetricDescription.pushConnections.meter([.service: service])
    }

    /// Records a batch: its results, and the time from its first request to its last answer.
    func record(_ results: [DeviceResult], took duration: Duration) {
        var accepted = 0
        var others: [String: Int] = [:]
        for result in results {
            // Nearly all are: no dictionary for them.
            if case .accepted = result { accepted += 1 } else { others[result.metricsClass, default: 0] += 1 }
        }
        if accepted > 0 { others[DeviceResult.accepted.metricsClass] = accepted }
        for (name, count) in others { self.requests[name]?.increment(by: count) }
        self.batchDuration.recordSeconds(duration.inSeconds)
    }

    /// Records how long one request of many took.
    func answered(after duration: Duration) { self.requestDuration.recordSeconds(duration.inSeconds) }

    /// Whether the next answer's time is to be recorded: that of the first, and then of one of 64.
    func isNextTimed() -> Bool {
        self.answers.withLockedValue { count in
            defer { count += 1 }
            return count.isMultiple(of: 64)
        }
    }

    func connectionsChanged(_ count: Int) {
        let change = self.counted.withLockedValue { counted in
            defer { counted = count }
            return count - counted
        }
        self.connections.increment(by: Double(change))
    }
}
