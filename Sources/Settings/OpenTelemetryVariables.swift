import Foundation
import PushModel

/// What OpenTelemetry's own variables say of the collector that they name: whether spans go there at all.
///
/// Source: OpenTelemetry Specification, "Environment Variable Specification" and "OpenTelemetry Protocol Exporter".
package struct OpenTelemetryVariables: Sendable {
    /// The only exporter that there is here.
    private static let exporter = "otlp"
    /// Spans are posted as JSON, which a collector takes where it takes the other.
    private static let protocols = ["http/json", "http/protobuf"]

    private let environment: [String: String]

    package init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
        self.environment = environment
    }

    /// The value of a variable; nil = it is not there, or empty, which means the same.
    func value(of name: String) -> String? { self.environment[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// Whether the collector that they name is to get spans.
    var isOn: Bool { !self.isSwitchedOff && self.unsupported == nil }

    private var exporters: [Substring] {
        self.value(of: "OTEL_TRACES_EXPORTER")?.split(separator: ",").map { $0.trimming() } ?? []
    }

    private var isSwitchedOff: Bool {
        self.value(of: "OTEL_SDK_DISABLED")?.lowercased() == "true" || self.exporters.contains("none")
    }

    /// What they ask for that there is not here, in words for people; nil = nothing, or they name no collector, or none shall get spans.
    package var unsupported: String? {
        guard self.value(of: "OTEL_EXPORTER_OTLP_ENDPOINT") != nil, !self.isSwitchedOff else { return nil }
        let exporters = self.exporters
        guard exporters.isEmpty || exporters.contains(Self.exporter[...]) else {
            return "OTEL_TRACES_EXPORTER is \(exporters.joined(separator: ",")), and there is \(Self.exporter)"
        }
        // That for spans alone counts before the other.
        for name in ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"] {
            guard let value = self.value(of: name) else { continue }
            return Self.protocols.contains(value)
                ? nil : "\(name) is \(value), and there is http/json, at another port of the collector, usually 4318"
        }
        return nil
    }
}
