package import Metrics

/// A metric of the exposition.
///
/// ``all`` has every one of ours, and no other place names a metric.
///
/// Handlers are found by the text of their labels: frequent users create them once.
package struct MetricDescription: Sendable {
    /// The types of Prometheus' text format that are used.
    package enum Kind: String, Sendable { case counter, gauge, histogram }

    /// The programs that expose metrics, by their names in `pushline_build_info`.
    package enum Process: String, Sendable, CaseIterable {
        case api
        case registerWorker = "register-worker"
        case sendWorker = "send-worker"
        case deliveryWorker = "delivery-worker"
    }

    /// The names of labels.
    package enum Label: String, Sendable {
        case app, cause, connection, credential, kind, outcome, peer, priority, queue, reason, result, role, service,
            stage, state, version
        case answerClass = "class"
        // OpenTelemetry's names.
        case httpMethod = "http_request_method"
        case httpRoute = "http_route"
        case httpStatus = "http_response_status_code"
    }

    /// The values of labels.
    package typealias Values = KeyValuePairs<Label, String>

    /// As it is exposed, with its unit and `_total`.
    package let name: String
    package let kind: Kind
    /// Where it is exposed.
    package let processes: [Process]
    package let labels: [Label]
    /// The measured quantity, its place and method, on one line.
    package let help: String
    /// The upper bounds of a histogram's buckets.
    package let bounds: [Double]

    init(
        _ name: String,
        _ kind: Kind,
        in processes: [Process] = Process.allCases,
        by labels: [Label] = [],
        bounds: [Double] = [],
        _ help: String
    ) {
        self.name = name
        self.kind = kind
        self.processes = processes
        self.labels = labels
        self.help = help
        self.bounds = bounds
    }

    /// By their names.
    package static let named = Dictionary(uniqueKeysWithValues: Self.all.map { ($0.name, $0) })

    /// The lines before its samples.
    package var header: String { "# HELP \(self.name) \(self.help)\n# TYPE \(self.name) \(self.kind.rawValue)\n" }

    package func counter(_ values: Values = [:]) -> Counter {
        Counter(label: self.name, dimensions: Self.dimensions(values))
    }

    package func gauge(_ values: Values = [:]) -> Gauge {
        Gauge(label: self.name, dimensions: Self.dimensions(values))
    }

    /// A gauge that several add to.
    package func meter(_ values: Values = [:]) -> Meter {
        Meter(label: self.name, dimensions: Self.dimensions(values))
    }

    /// A histogram of durations.
    package func timer(_ values: Values = [:]) -> Timer {
        Timer(label: self.name, dimensions: Self.dimensions(values))
    }

    /// A histogram of sizes.
    package func recorder(_ values: Values = [:]) -> Recorder {
        Recorder(label: self.name, dimensions: Self.dimensions(values))
    }

    /// Header and one sample, for a metric computed on request.
    package func text(_ value: Double, _ values: Values = [:]) -> String { self.text([(values, value)]) }

    /// Header and samples, for a metric computed on request; empty without samples.
    package func text(_ samples: [(values: Values, value: Double)]) -> String {
        guard !samples.isEmpty else { return "" }
        return samples.reduce(into: self.header) { text, sample in
            let labels = Labels(Self.dimensions(sample.values))
            text += "\(self.name)\(labels.text()) \(prometheusNumber(sample.value))\n"
        }
    }

    private static func dimensions(_ values: Values) -> [(String, String)] {
        values.map { ($0.key.rawValue, $0.value) }
    }
}

/// A number without a needless `.0`.
package func prometheusNumber(_ value: Double) -> String {
    if let whole = Int64(exactly: value) { return String(whole) }
    if value.isNaN { return "NaN" }
    return value.isInfinite ? (value > 0 ? "+Inf" : "-Inf") : String(value)
}
