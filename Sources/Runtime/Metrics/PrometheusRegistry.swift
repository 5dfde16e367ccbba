import Metrics
import NIOConcurrencyHelpers
import PushlineMetrics

/// Keeps the process's metrics and writes them as Prometheus text (exposition format 0.0.4).
///
/// Help and bucket bounds come from the table of ``MetricDescription``. A metric missing there is exposed without them,
/// which `promtool` and the tests find.
///
/// Bounded: at most ``maximumSeries`` label sets a metric and ``maximumFamilies`` metrics. Further label sets are
/// summed under the value `other`, further metrics are dropped.
final class PrometheusRegistry: Sendable {
    static let maximumSeries = 500
    static let maximumFamilies = 1000

    private struct State {
        /// By exposition name, which two labels may share only where they are of one kind.
        var families: [String: Family] = [:]
    }

    private struct Family {
        let kind: MetricDescription.Kind
        var series: [Labels: any PrometheusSeries] = [:]
    }

    private let descriptions: [String: MetricDescription]
    private let state = NIOLockedValueBox(State())

    /// - Parameter descriptions: The metrics' descriptions by name.
    init(_ descriptions: [String: MetricDescription] = MetricDescription.named) { self.descriptions = descriptions }

    /// The series of a metric with those labels, made where there is none.
    private func series<Series: PrometheusSeries>(
        _ label: String,
        _ dimensions: [(String, String)],
        kind: MetricDescription.Kind,
        make: (_ bounds: [Double]) -> Series
    ) -> Series {
        let name = Labels.identifier(label)
        let labels = Labels(dimensions)
        let bounds = self.descriptions[name]?.bounds ?? []
        return self.state.withLockedValue { state in
            guard state.families[name] != nil || state.families.count < Self.maximumFamilies else {
                return make(bounds)
            }
            var family = state.families[name] ?? Family(kind: kind)
            // A name used by two kinds would make the text invalid: the second kind's series is counted and not
            // exposed.
            guard family.kind == kind else { return make(bounds) }
            let key =
                family.series[labels] == nil && family.series.count >= Self.maximumSeries
                ? labels.withoutValues : labels
            if let known = family.series[key] { return known as? Series ?? make(bounds) }
            let new = make(bounds)
            family.series[key] = new
            state.families[name] = family
            return new
        }
    }

    /// Everything as text, sorted by name and labels.
    func exposition() -> String {
        let families = self.state.withLockedValue { $0.families }
        var text = ""
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            text += self.descriptions[name]?.header ?? "# TYPE \(name) \(family.kind.rawValue)\n"
            for (labels, series) in family.series.sorted(by: { $0.key < $1.key }) {
                series.write(name: name, labels: labels, to: &text)
            }
        }
        return text
    }
}

extension PrometheusRegistry: MetricsFactory {
    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        self.series(label, dimensions, kind: .counter) { _ in PrometheusCounter() }
    }

    func makeFloatingPointCounter(
        label: String,
        dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        self.series(label, dimensions, kind: .counter) { _ in PrometheusCounter() }
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        self.series(label, dimensions, kind: .gauge) { _ in PrometheusGauge() }
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        guard aggregate else { return self.series(label, dimensions, kind: .gauge) { _ in PrometheusGauge() } }
        return self.series(label, dimensions, kind: .histogram) { PrometheusHistogram(bounds: $0) }
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        self.series(label, dimensions, kind: .histogram) { PrometheusHistogram(bounds: $0) }
    }

    // Series are kept until the process ends: a counter that vanishes and comes back would look like a restart.
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}
}
