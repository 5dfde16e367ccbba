package import PushModel

/// Where spans go, and which are recorded.
package struct TraceSettings: SettingsSection {
    /// Which traces are recorded, by OpenTelemetry's names.
    package enum Sampler: String, Sendable, CaseIterable {
        case alwaysOn = "always_on"
        case alwaysOff = "always_off"
        case ratio = "traceidratio"
        /// As whoever asked says, and where nobody does all.
        case parentOrOn = "parentbased_always_on"
        case parentOrOff = "parentbased_always_off"
        case parentOrRatio = "parentbased_traceidratio"
    }

    @Setting(
        .webAddress,
        "a collector's address for OTLP over HTTP, such as http://127.0.0.1:4318; spans are posted to /v1/traces below it; empty = none are made",
        variable: "OTEL_EXPORTER_OTLP_ENDPOINT"
    )
    package var endpoint: String? = nil
    @Setting(
        .text,
        "the service's name in traces; empty = the program's, such as pushline-api",
        variable: "OTEL_SERVICE_NAME"
    )
    package var serviceName: String? = nil
    @Setting(
        .choice,
        "which traces are recorded; with parentbased as the caller's traceparent says, where there is one",
        variable: "OTEL_TRACES_SAMPLER"
    )
    package var sampler = Sampler.parentOrOn
    @Setting(
        .number(0...1),
        "of the samplers by ratio: the share of traces that is recorded; the same in all processes",
        variable: "OTEL_TRACES_SAMPLER_ARG"
    )
    package var samplerArg = 1.0

    package init() {}
}
