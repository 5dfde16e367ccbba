import Metrics
import NIOConcurrencyHelpers
import PushlineMetrics

/// One metric with one set of labels.
protocol PrometheusSeries: AnyObject, Sendable {
    func write(name: String, labels: Labels, to text: inout String)
}

/// A number that only grows.
final class PrometheusCounter: PrometheusSeries, CounterHandler, FloatingPointCounterHandler {
    private let value = NIOLockedValueBox(0.0)

    func increment(by amount: Int64) { self.increment(by: Double(amount)) }

    func increment(by amount: Double) {
        guard amount >= 0 else { return }
        self.value.withLockedValue { $0 += amount }
    }

    func reset() { self.value.withLockedValue { $0 = 0 } }

    func write(name: String, labels: Labels, to text: inout String) {
        text += "\(name)\(labels.text()) \(prometheusNumber(self.value.withLockedValue { $0 }))\n"
    }
}

/// A number that goes up and down; also a recorder that keeps the last value.
final class PrometheusGauge: PrometheusSeries, MeterHandler, RecorderHandler {
    private let value = NIOLockedValueBox(0.0)

    func set(_ value: Int64) { self.set(Double(value)) }
    func set(_ value: Double) { self.value.withLockedValue { $0 = value } }
    func increment(by amount: Double) { self.value.withLockedValue { $0 += amount } }
    func decrement(by amount: Double) { self.value.withLockedValue { $0 -= amount } }
    func record(_ value: Int64) { self.set(Double(value)) }
    func record(_ value: Double) { self.set(value) }

    func write(name: String, labels: Labels, to text: inout String) {
        text += "\(name)\(labels.text()) \(prometheusNumber(self.value.withLockedValue { $0 }))\n"
    }
}

/// How often values fell below each of some bounds.
final class PrometheusHistogram: PrometheusSeries, RecorderHandler, TimerHandler {
    private struct State {
        /// One bucket per bound and one above all bounds; not cumulative.
        var buckets: [UInt64]
        var sum = 0.0
    }

    private let bounds: [Double]
    private let state: NIOLockedValueBox<State>

    init(bounds: [Double]) {
        self.bounds = bounds
        self.state = NIOLockedValueBox(State(buckets: Array(repeating: 0, count: bounds.count + 1)))
    }

    func record(_ value: Int64) { self.record(Double(value)) }

    func record(_ value: Double) {
        guard value.isFinite else { return }
        let index = self.bounds.firstIndex { value <= $0 } ?? self.bounds.count
        self.state.withLockedValue { state in
            state.buckets[index] += 1
            state.sum += value
        }
    }

    func recordNanoseconds(_ duration: Int64) { self.record(Double(duration) / 1e9) }

    func write(name: String, labels: Labels, to text: inout String) {
        let state = self.state.withLockedValue { $0 }
        var count: UInt64 = 0
        for (bound, bucket) in zip(self.bounds.map(prometheusNumber) + ["+Inf"], state.buckets) {
            count += bucket
            text += "\(name)_bucket\(labels.text(and: "le=\"\(bound)\"")) \(count)\n"
        }
        text += "\(name)_sum\(labels.text()) \(prometheusNumber(state.sum))\n"
        text += "\(name)_count\(labels.text()) \(count)\n"
    }
}
