import Metrics
import PushModel

/// What a sender counts, by service; never by app or device.
struct SenderMetrics: Sendable {
    private let requests: [String: Counter]
    private let duration: Timer
    private let connections: Gauge

    init(pns: PushService) {
        let classes = ["accepted", "retry", "dead", "rejected", "misconfigured", "unsent", "unanswered"]
        let service = ("push.service", pns.rawValue)
        self.requests = Dictionary(
            uniqueKeysWithValues: classes.map { name in
                (name, Counter(label: "push.requests", dimensions: [service, ("class", name)]))
            }
        )
        self.duration = Timer(label: "push.request.duration", dimensions: [service])
        self.connections = Gauge(label: "push.connections", dimensions: [service])
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
        self.duration.recordSeconds(duration.inSeconds)
    }

    func connectionsChanged(_ count: Int) { self.connections.record(count) }
}
