import Foundation
import InstallationSupport
import NIOConcurrencyHelpers
import PushModel
import RawHTTP
import Testing
import Undisturbed

/// Spans as a collector gets them from all programs.
@Suite(.timeLimit(.minutes(6)), .undisturbed) struct TraceEndToEndTests {
    /// A span as OTLP has it.
    private struct Span: Decodable, Sendable {
        struct Link: Decodable, Sendable { let traceId: String }

        let traceId: String
        let spanId: String
        let parentSpanId: String?
        let traceState: String?
        let name: String
        let kind: Int
        let startTimeUnixNano: String
        let endTimeUnixNano: String
        let links: [Link]?
    }

    private struct Export: Decodable, Sendable {
        struct Resource: Decodable, Sendable {
            struct Attribute: Decodable, Sendable {
                struct Value: Decodable, Sendable { let stringValue: String? }
                let key: String
                let value: Value
            }
            let attributes: [Attribute]
        }
        struct Scoped: Decodable, Sendable { let spans: [Span] }
        struct Process: Decodable, Sendable {
            let resource: Resource
            let scopeSpans: [Scoped]
        }
        let resourceSpans: [Process]
    }

    /// What a collector has been given.
    private final class Collector: Sendable {
        private let exports = NIOLockedValueBox<[Export]>([])

        func take(_ request: RawServer.Request) -> RawServer.Reply {
            guard request.target == "/v1/traces",
                let export = try? JSONDecoder().decode(Export.self, from: Data(request.body))
            else {
                Issue.record("\(request.target): \(String(decoding: request.body.prefix(1000), as: UTF8.self))")
                return .answer(400)
            }
            self.exports.withLockedValue { $0.append(export) }
            return .answer(200, body: Array("{}".utf8))
        }

        /// The spans of a trace, by the service that they are of.
        func spans(of trace: String) -> [(service: String, span: Span)] {
            self.exports.withLockedValue { $0 }.flatMap(\.resourceSpans).flatMap { process in
                let name = process.resource.attributes.first { $0.key == "service.name" }?.value.stringValue ?? ""
                return process.scopeSpans.flatMap(\.spans).filter { $0.traceId == trace }.map { (name, $0) }
            }
        }
    }

    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let caller = "00f067aa0ba902b7"

    private func withCollector(_ body: @escaping @Sendable (Collector, EndToEndInstallation) async throws -> Void)
        async throws
    {
        let collector = Collector()
        try await RawServer.run(.plain, react: { collector.take($0) }) { server in
            let settings = [
                "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:\(server.port)", "PUSHLINE_LOG_LEVEL": "debug",
                "PUSHLINE_LOG_FORMAT": "json", "PUSHLINE_LOG_ACCESS": "true",
            ]
            try await withInstallation(environment: settings) {
                try await body(collector, try #require(EndToEndInstallation.current))
            }
        }
    }

    /// The way from the caller's span to one of them, by services and names; nil where one of its parents is not there.
    private static func way(to span: Span, among spans: [(service: String, span: Span)]) -> [String]? {
        var way: [String] = []
        var next = span.spanId
        while next != Self.caller {
            guard let found = spans.first(where: { $0.span.spanId == next }) else { return nil }
            way.append("\(found.service) \(found.span.name)")
            next = found.span.parentSpanId ?? ""
        }
        return way.reversed()
    }

    private static let wayOfOneSend = [
        "pushline-api POST /api/sends", "pushline-api send pushline.send.normal.v2",
        "pushline-send-worker process pushline.send.normal.v2", "pushline-send-worker fan out",
        "pushline-send-worker send pushline.deliver.apns.normal.v2",
        "pushline-delivery-worker process pushline.deliver.apns.normal.v2", "pushline-delivery-worker push apns",
    ]

    /// Each send is followed hop by hop, and one of five at least is, but where a sweep has published a message of it, as on a busy
    /// machine: that knows no more than the request that it comes from.
    @Test func aSendIsFollowedFromItsCallerToThePushService() async throws {
        try await self.withCollector { collector, installation async throws in
            try await installation.importRegistrations(
                (0..<20).map { #"{"service":"apns","handle":"\#(String(format: "%064x", $0))","user":"bob"}"# }
            )
            var ways: [[String]?] = []
            for number in 0..<5 where !ways.contains(Self.wayOfOneSend) {
                let before = try await Self.swept(installation)
                ways += try await Self.follow(Self.trace.dropLast() + "\(number)", collector, installation)
                let isSwept = try await Self.swept(installation) > before
                #expect(isSwept || ways.contains(Self.wayOfOneSend), "\(ways)")
            }
            #expect(ways.contains(Self.wayOfOneSend), "\(ways)")
        }
    }

    /// How many messages sweeps have published.
    private static func swept(_ installation: EndToEndInstallation) async throws -> Int {
        var count = 0
        for program in ["api", "send-worker"] {
            let lines = try await installation.metrics(of: program).split(separator: "\n").filter {
                $0.hasPrefix("pushline_sweeper_published_total{")
            }
            count += lines.compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }.reduce(0, +)
        }
        return count
    }

    /// Sends to all of them in a trace, and looks at all that is in it.
    ///
    /// - Returns: The way to each of its spans.
    private static func follow(_ trace: String, _ collector: Collector, _ installation: EndToEndInstallation)
        async throws -> [[String]?]
    {
        let answer = try await installation.asBackend(
            "POST",
            "/api/sends",
            body: #"{"to":{"user":"bob"},"body":"x"}"#,
            headers: ["traceparent": "00-\(trace)-\(Self.caller)-01", "tracestate": "congo=t61"]
        )
        let job = try await installation.finished(try #require(answer.headers["pushline-job"]))
        #expect(job.totals.accepted == 20)
        try await eventually("all spans are there, each under another") {
            let spans = collector.spans(of: trace)
            return spans.contains { $0.span.name == "push apns" }
                && spans.allSatisfy { Self.way(to: $0.span, among: spans) != nil }
        }
        let spans = collector.spans(of: trace)
        let ways = spans.map { Self.way(to: $0.span, among: spans) }
        // A busy machine may take a slice more, or try a device again; it has no span for each.
        #expect(spans.count < 20, "\(ways)")
        #expect(ways.allSatisfy { $0?.first == Self.wayOfOneSend[0] }, "\(ways)")
        #expect(spans.allSatisfy { $0.span.startTimeUnixNano <= $0.span.endTimeUnixNano })
        // What is others' own words is not kept.
        #expect(spans.allSatisfy { $0.span.traceState == nil })
        #expect(Set(spans.map(\.span.kind)).isSuperset(of: [2, 3, 5]))
        // Whoever has the trace finds the lines; each look at the job is a request with a trace of its own.
        let request = try #require(answer.headers["request-id"])
        for program in ["api", "send-worker", "delivery-worker"] {
            let lines = try await installation.log(of: program).split(separator: "\n").map { line in
                try JSONDecoder().decode([String: String].self, from: Data(line.utf8))
            }
            let ofJob = lines.filter { $0["job.id"] == job.id && $0["request.id"] == request }
            #expect(!ofJob.isEmpty && ofJob.allSatisfy { $0["trace_id"] == trace }, "\(program): \(ofJob)")
        }
        return ways
    }

    /// However many devices, each page is a span, and each slice of the fan-out.
    @Test func aCampaignHasASpanAPage() async throws {
        try await self.withCollector { collector, installation async throws in
            try await installation.importRegistrations(
                (0..<2500).map {
                    #"{"service":"fcm","handle":"device:\#($0)","user":"bob","tags":["news"]}"#
                }
            )
            let answer = try await installation.asBackend(
                "POST",
                "/api/sends",
                body: #"{"to":{"tag":"news"},"body":"x"}"#,
                headers: ["traceparent": "00-\(Self.trace)-\(Self.caller)-01"]
            )
            let job = try await installation.finished(try #require(answer.headers["pushline-job"]))
            #expect(job.totals.accepted == 2500)
            try await eventually("all spans are there, each under another") {
                let spans = collector.spans(of: Self.trace)
                return spans.contains { $0.span.name == "process pushline.send.normal.v2" }
                    && spans.count(where: { $0.span.name == "push fcm" }) == 3
                    && spans.allSatisfy { Self.way(to: $0.span, among: spans) != nil }
            }
            let spans = collector.spans(of: Self.trace)
            for name in ["send pushline.deliver.fcm.normal.v2", "process pushline.deliver.fcm.normal.v2"] {
                #expect(spans.count(where: { $0.span.name == name }) == 3)
            }
        }
    }

    /// The installation does what it does, whatever becomes of its spans.
    @Test func aCollectorThatIsNotThereHoldsNothingUp() async throws {
        let port = try await FreePort.find()
        try await withInstallation(environment: ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:\(port)"]) {
            let installation = try #require(EndToEndInstallation.current)
            try await installation.register("bob", platform: "fcm", handle: "device:bob")
            let answer = try await installation.asBackend(
                "POST",
                "/api/sends",
                body: #"{"to":{"user":"bob"},"body":"x"}"#
            )
            let job = try await installation.finished(try #require(answer.headers["pushline-job"]))
            #expect(job.state == "completed" && job.totals.accepted == 1)
            try await eventually("it is said") {
                try await installation.log(of: "api").contains("The collector does not take spans")
            }
            for program in EndToEndInstallation.programs { #expect(try await installation.terminate(program) == 0) }
        }
    }
}
