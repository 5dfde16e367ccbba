import Metrics
import NIOConcurrencyHelpers
import PushModel
import Store

/// `pushline.deliveries` by service and outcome.
struct DeliveryMetrics: Sendable {
    /// The counters of a service.
    private struct Counters {
        let accepted, failed, expired, cancelled, carried: Counter

        init(_ pns: PushService) {
            func counter(_ outcome: String) -> Counter {
                Counter(label: "pushline.deliveries", dimensions: [("service", pns.rawValue), ("outcome", outcome)])
            }
            self.accepted = counter("accepted")
            self.failed = counter("failed")
            self.expired = counter("expired")
            self.cancelled = counter("cancelled")
            self.carried = counter("carried")
        }
    }

    /// Made once each: looking one up by its labels' text costs as much as half a delivery.
    private let services = NIOLockedValueBox<[PushService: Counters]>([:])

    func record(_ outcome: BatchOutcome) {
        let pns = outcome.key.pns
        let counters = self.services.withLockedValue { services in
            if let known = services[pns] { return known }
            let counters = Counters(pns)
            services[pns] = counters
            return counters
        }
        counters.accepted.increment(by: outcome.accepted)
        counters.failed.increment(by: outcome.failures.count)
        counters.expired.increment(by: outcome.expired)
        counters.cancelled.increment(by: outcome.cancelled)
        counters.carried.increment(by: outcome.carried.count)
    }
}
