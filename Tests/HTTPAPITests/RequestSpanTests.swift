import HTTPTypes
import PushModel
import Settings
import Store
import Testing
import Tracing

@testable import HTTPAPI
@testable import PushlineTracing

/// The span of a request, and what callers say of theirs.
@Suite struct RequestSpanTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let parent = "00-\(trace)-00f067aa0ba902b7-01"

    private let queue = SpanQueue()

    private func run(_ body: @Sendable @escaping (Harness) async throws -> Void) async throws {
        var options = Harness.Options()
        options.traces = Traces(SpanTracer(TraceSettings(), queue: self.queue))
        try await Harness.run(options, body)
    }

    @Test func aRequestsSpanIsUnderItsCallersAndItsJobHasIt() async throws {
        try await self.run { harness async throws in
            let body = #"{"to":{"user":"ann"},"body":"x"}"#
            let headers = ["traceparent": Self.parent, "tracestate": "congo=t61"]
            let key = try await harness.key(.sender)
            let answer = try await harness.call(.post, "/api/sends", as: key, body: body, headers: headers)
            #expect(answer.status == 202, "\(answer.text)")
            let spans = self.queue.take()
            let span = try #require(spans.first { $0.kind == .server })
            #expect(span.name == "POST /api/sends" && span.place.trace.description == Self.trace)
            #expect(span.parent?.description == "00f067aa0ba902b7" && span.place.state == "congo=t61")
            #expect(span.attributes.get("http.response.status_code") == .int64(202) && span.status == nil)
            #expect(span.attributes.get("pushline.app") == .string("default"))
            let jobs = try await harness.store.jobs(JobQuery(app: .default, limit: 10)).items
            // Ours, and not the caller's.
            #expect(jobs.map { $0.request?.span } == [span.place])
        }
    }

    /// What is no header begins a trace of its own, and is repeated nowhere.
    @Test(arguments: ["x", "00-\(trace)-0000000000000000-01", "\(parent)-", "\(parent), \(parent)"])
    func aHeaderThatIsNoneIsNotTaken(text: String) async throws {
        try await self.run { harness async throws in
            let headers = ["traceparent": text, "tracestate": "a=1"]
            #expect(try await harness.call(.get, "/api/jobs", headers: headers).status == 200)
            let span = try #require(self.queue.take().first)
            #expect(span.parent == nil && span.place.trace.description != Self.trace && span.place.state == nil)
        }
    }

    @Test func aCallerThatRecordsNothingHasNothingRecorded() async throws {
        try await self.run { harness async throws in
            let unsampled = "\(Self.parent.dropLast())0"
            #expect(try await harness.call(.get, "/api/jobs", headers: ["traceparent": unsampled]).status == 200)
            #expect(self.queue.count == 0)
        }
    }

    /// Names are of a few kinds, whatever is asked for; what asks whether all is well is not followed.
    @Test func namesAreTemplatesAndProbesHaveNone() async throws {
        try await self.run { harness async throws in
            for path in ["/healthz", "/readyz", "/metrics"] { _ = try await harness.call(.get, path) }
            #expect(self.queue.count == 0)
            _ = try await harness.call(.get, "/api/jobs/\(JobID.make())")
            _ = try await harness.call(.get, "/no/such/path/of/ours")
            #expect(self.queue.take().map(\.name) == ["GET /api/jobs/{id}", "GET unknown"])
        }
    }
}
