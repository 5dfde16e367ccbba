import Logging
import Metrics
import NIOConcurrencyHelpers
import PushModel
import PushlineMetrics
import Store

/// Results of devices, and their durations.
struct DeliveryMetrics: Sendable {
    private struct Key: Hashable {
        let app: AppID
        let pns: PushService
    }

    /// The counters of an app at a service.
    private struct Counters {
        let accepted, failed, expired, cancelled, retries: Counter

        init(_ key: Key) {
            func counter(_ outcome: String) -> Counter {
                MetricDescription.deliveries
                    .counter([.service: key.pns.rawValue, .app: key.app.name, .outcome: outcome])
            }
            self.accepted = counter("accepted")
            self.failed = counter("failed")
            self.expired = counter("expired")
            self.cancelled = counter("cancelled")
            self.retries = counter("retried")
        }
    }

    private struct DelayKey: Hashable {
        let pns: PushService
        let priority: Priority
    }

    // Made once each: looking one up by its labels' text costs as much as half a delivery.
    private let counters = NIOLockedValueBox<[Key: Counters]>([:])
    private let delays = NIOLockedValueBox<[DelayKey: Timer]>([:])

    /// Counts recorded outcomes, but for dry runs.
    ///
    /// - Parameters:
    ///   - outcomes: The outcomes of a message: of one app, service and priority.
    ///   - app: The app.
    ///   - priority: The priority.
    func record(_ outcomes: [BatchOutcome], of app: AppID, _ priority: Priority) {
        let outcomes = outcomes.filter { !$0.isDryRun }
        guard let pns = outcomes.first?.key.pns else { return }
        let counters = self.made(Key(app: app, pns: pns), in: self.counters) { Counters($0) }
        counters.accepted.increment(by: outcomes.reduce(0) { $0 + $1.accepted })
        counters.failed.increment(by: outcomes.reduce(0) { $0 + $1.failures.count })
        counters.expired.increment(by: outcomes.reduce(0) { $0 + $1.expired })
        counters.cancelled.increment(by: outcomes.reduce(0) { $0 + $1.cancelled })
        counters.retries.increment(by: outcomes.reduce(0) { $0 + $1.retries.count })
        let delay = self.made(DelayKey(pns: pns, priority: priority), in: self.delays) {
            MetricDescription.deliveryDelay.timer([.service: $0.pns.rawValue, .priority: $0.priority.rawValue])
        }
        for outcome in outcomes where outcome.accepted > 0 {
            guard let began = outcome.began else { continue }
            // A wall clock that was set back must not count as an early delivery.
            delay.recordSeconds(max(.zero, began.duration(to: outcome.at)).inSeconds)
        }
    }

    /// The handler for a key, created on first use; keys are declared apps, so there are few.
    private func made<Key, Value>(
        _ key: Key,
        in known: NIOLockedValueBox<[Key: Value]>,
        make: (Key) -> Value
    ) -> Value {
        known.withLockedValue { known in
            if let value = known[key] { return value }
            let value = make(key)
            known[key] = value
            return value
        }
    }
}

extension [BatchOutcome] {
    /// How many devices have which outcome, for the log.
    var metadata: Logger.Metadata {
        [
            "devices.accepted": "\(self.reduce(0) { $0 + $1.accepted })",
            "devices.failed": "\(self.reduce(0) { $0 + $1.failures.count })",
            "devices.expired": "\(self.reduce(0) { $0 + $1.expired })",
            "devices.cancelled": "\(self.reduce(0) { $0 + $1.cancelled })",
            "devices.retried": "\(self.reduce(0) { $0 + $1.retries.count })",
        ]
    }
}
