import Settings
import Testing

extension ConfigurationTests {
    /// OpenTelemetry's own variables, which count behind all that is said in ours.
    @Suite struct OpenTelemetryTests {
        private static let collector = ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"]

        private func traces(_ file: String = "", _ environment: [String: String]) throws -> TraceSettings {
            try ConfigurationTests().configuration(file, environment: environment).traces
        }

        private func refusal(_ environment: [String: String], _ file: String = "") -> String? {
            ConfigurationTests().refusal(file, environment: environment)
        }

        @Test func theyCountBehindOurVariablesAndTheFile() throws {
            let standard = Self.collector.merging([
                "OTEL_SERVICE_NAME": "push", "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
                "OTEL_TRACES_SAMPLER_ARG": "0.25",
            ]) { $1 }
            let found = try self.traces("", standard)
            #expect(found.endpoint == "http://collector:4318" && found.serviceName == "push")
            #expect(found.sampler == .parentOrRatio && found.samplerArg == 0.25)
            let text = "traces: {endpoint: \"http://file:1\", sampler: always_off}"
            let file = try self.traces(text, standard)
            #expect(file.endpoint == "http://file:1" && file.sampler == .alwaysOff && file.serviceName == "push")
            let ours = ["PUSHLINE_TRACES_ENDPOINT": "https://own", "PUSHLINE_TRACES_SAMPLER": "parentbased_always_on"]
            let mixed = try self.traces(text, standard.merging(ours) { $1 })
            #expect(mixed.endpoint == "https://own" && mixed.sampler == .parentOrOn && mixed.serviceName == "push")
            // Empty says nothing, as OpenTelemetry has it; ours takes the value away.
            #expect(try self.traces(text, ["OTEL_EXPORTER_OTLP_ENDPOINT": ""]).endpoint == "http://file:1")
            let none = Self.collector.merging(["PUSHLINE_TRACES_ENDPOINT": ""]) { $1 }
            #expect(try self.traces(text, none).endpoint == nil)
            #expect(try self.traces("", [:]).endpoint == nil)
        }

        /// The file that comes with the programs has every key with its default, which says nothing.
        @Test func theFileOfAllDefaultsSaysNothing() throws {
            let environment = Self.collector.merging(["OTEL_TRACES_SAMPLER": "always_off"]) { $1 }
            let found = try self.traces(ConfigurationText.configuration, environment)
            #expect(found.endpoint == "http://collector:4318" && found.sampler == .alwaysOff)
        }

        @Test(
            arguments: [
                (["OTEL_SDK_DISABLED": "true"], nil), (["OTEL_SDK_DISABLED": "TRUE"], nil),
                (["OTEL_TRACES_EXPORTER": "none"], nil),
                (["OTEL_TRACES_EXPORTER": "zipkin"], "OTEL_TRACES_EXPORTER is zipkin, and there is otlp"),
                (
                    ["OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"],
                    "OTEL_EXPORTER_OTLP_PROTOCOL is grpc, and there is http/json, at another port of the collector, usually 4318"
                ),
                (
                    ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"],
                    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL is grpc, and there is http/json, at another port of the collector, usually 4318"
                ),
            ] as [([String: String], String?)]
        )
        func whatTheySwitchOffIsOff(others: [String: String], unsupported: String?) throws {
            // Then nothing else of them is looked at.
            let more = ["OTEL_TRACES_SAMPLER": "jaeger_remote"]
            let environment = Self.collector.merging(others) { $1 }
            #expect(try self.traces("", environment.merging(more) { $1 }).endpoint == nil)
            #expect(OpenTelemetryVariables(environment).unsupported == unsupported)
            // They say nothing of another collector, nor of none.
            #expect(try self.traces("traces: {endpoint: \"http://file:1\"}", environment).endpoint == "http://file:1")
            #expect(OpenTelemetryVariables(others).unsupported == nil)
        }

        @Test(
            arguments: [
                [:], ["OTEL_SDK_DISABLED": "false"], ["OTEL_SDK_DISABLED": "1"], ["OTEL_TRACES_EXPORTER": "otlp"],
                ["OTEL_TRACES_EXPORTER": "console, otlp"], ["OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"],
                ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"],
            ] as [[String: String]]
        )
        func otherwiseTheirCollectorGetsSpans(others: [String: String]) throws {
            let environment = Self.collector.merging(others) { $1 }
            #expect(try self.traces("", environment).endpoint == "http://collector:4318")
            #expect(OpenTelemetryVariables(environment).unsupported == nil)
        }

        /// What is wrong is refused by its name, but only where there is a collector: else it is for somebody else.
        @Test(arguments: [
            ("OTEL_TRACES_SAMPLER_ARG", "1.5", "must be a number from 0 to 1"),
            (
                "OTEL_TRACES_SAMPLER", "jaeger_remote",
                "must be one of always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off, parentbased_traceidratio"
            ),
        ])
        func whatIsWrongIsRefusedWhereThereIsACollector(name: String, value: String, fault: String) throws {
            #expect(try self.traces("", [name: value]).endpoint == nil)
            let refusal = "environment: \(name): \(fault)"
            #expect(self.refusal(Self.collector.merging([name: value]) { $1 }) == refusal)
            #expect(self.refusal([name: value], "traces: {endpoint: \"http://file:1\"}") == refusal)
        }

        @Test(arguments: ["collector:4318", "http://u:p@collector"])
        func whatIsNoAddressIsRefused(address: String) throws {
            #expect(
                self.refusal(["OTEL_EXPORTER_OTLP_ENDPOINT": address])
                    == "environment: OTEL_EXPORTER_OTLP_ENDPOINT: must be an http or https address without user and query"
            )
        }
    }
}
