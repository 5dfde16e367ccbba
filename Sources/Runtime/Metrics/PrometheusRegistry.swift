import Metrics
import NIOConcurrencyHelpers

/// Keeps what the process measures and writes it as Prometheus text (exposition format 0.0.4).
///
/// Bounded: at most ``maximumSeries`` label sets a metric and ``maximumFamilies`` metrics; what comes beyond is summed under
/// the label value `other`, or not kept.
final class PrometheusRegistry: Sendable {
    static let maximumSeries = 500
    static let maximumFamilies = 1000
    static let otherValue = "other"

    private struct State {
        /// By exposition name, which two labels may share only where they are of one kind.
        var families: [String: Family] = [:]
    }

    private struct Family {
        let kind: Kind
        var series: [Labels: any PrometheusSeries] = [:]
    }

    /// The kinds of the exposition format that are used.
    enum Kind: String { case counter, gauge, histogram }

    private let state = NIOLockedValueBox(State())

    init() {}

    /// The series of that name and labels, made where there is none.
    func series<Series: PrometheusSeries>(_ name: String, kind: Kind, labels: Labels, make: () -> Series) -> Series {
        self.state.withLockedValue { state in
            guard state.families[name] != nil || state.families.count < Self.maximumFamilies else { return make() }
            var family = state.families[name] ?? Family(kind: kind)
            // A name that is taken by another kind would make the text invalid: such a series counts for itself alone.
            guard family.kind == kind else { return make() }
            let key =
                family.series[labels] == nil && family.series.count >= Self.maximumSeries
                ? labels.withoutValues : labels
            if let known = family.series[key] { return known as? Series ?? make() }
            let new = make()
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
            text += "# TYPE \(name) \(family.kind.rawValue)\n"
            for (labels, series) in family.series.sorted(by: { $0.key < $1.key }) {
                series.write(name: name, labels: labels, to: &text)
            }
        }
        return text
    }
}

extension PrometheusRegistry: MetricsFactory {
    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        self.series(Self.name(label, suffix: "_total"), kind: .counter, labels: Labels(dimensions)) {
            PrometheusCounter()
        }
    }

    func makeFloatingPointCounter(
        label: String,
        dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        self.series(Self.name(label, suffix: "_total"), kind: .counter, labels: Labels(dimensions)) {
            PrometheusCounter()
        }
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        self.series(Self.name(label, suffix: ""), kind: .gauge, labels: Labels(dimensions)) { PrometheusGauge() }
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        guard aggregate else {
            return self.series(Self.name(label, suffix: ""), kind: .gauge, labels: Labels(dimensions)) {
                PrometheusGauge()
            }
        }
        return self.series(Self.name(label, suffix: ""), kind: .histogram, labels: Labels(dimensions)) {
            PrometheusHistogram(bounds: PrometheusHistogram.counts)
        }
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        self.series(Self.name(label, suffix: "_seconds"), kind: .histogram, labels: Labels(dimensions)) {
            PrometheusHistogram(bounds: PrometheusHistogram.seconds)
        }
    }

    // Series are kept until the process ends: a counter that vanishes and comes back would look like a restart.
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}

    /// A dotted label as Prometheus spells it: `push.delivery.sent` is `push_delivery_sent`.
    static func name(_ label: String, suffix: String) -> String {
        let name = Labels.identifier(label)
        return name.hasSuffix(suffix) ? name : name + suffix
    }
}
