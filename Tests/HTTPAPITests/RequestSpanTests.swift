import HTTPTypes
import LogRecorder
import Logging
import PushModel
import Settings
import Store
import Testing
import Tracing
import Undisturbed
import WebServing

@testable import HTTPAPI
@testable import PushlineTracing

/// The span of a request, and what callers say of theirs.
@Suite(.undisturbed) struct RequestSpanTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let parent = "00-\(trace)-00f067aa0ba902b7-01"

    private let queue = SpanQueue()

    private func run(
        _ options: Harness.Options = Harness.Options(),
        _ body: @Sendable @escaping (Harness) async throws -> Void
    ) async throws {
        var options = options
        options.traces = Traces(TraceSettings(), to: self.queue)
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
            #expect(span.parent?.description == "00f067aa0ba902b7")
            #expect(span.attributes.get("http.response.status_code") == .int64(202) && !span.hasFailed)
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
            #expect(span.parent == nil && span.place.trace.description != Self.trace)
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
            #expect(self.queue.take().map(\.name) == ["GET /api/jobs/{id}"])
        }
    }

    /// Whoever is let in nowhere has nothing recorded, and finds its trace in no line of the log.
    @Test func strangersAreNotRecordedWhateverTheySay() async throws {
        let log = LogRecorder()
        var options = Harness.Options()
        options.logger = log.logger(.info)
        options.configuration.serving.accessLog = true
        options.spec.api.origins = [try WebOrigin("https://a.example")]
        try await self.run(options) { harness async throws in
            let headers = ["traceparent": Self.parent]
            let asked: [(HTTPRequest.Method, String, Harness.As, [String: String], Int)] = [
                (.get, "/api/jobs", .nobody, [:], 401), (.get, "/api/jobs", .basic("alice", "wrong"), [:], 401),
                (.get, "/no/such/path", .nobody, [:], 404), (.get, "/no/such/path", .user("root"), [:], 404),
                (.delete, "/api/sends", .nobody, [:], 405), (.get, "/healthz", .nobody, [:], 200),
                (
                    .options, "/api/jobs", .nobody,
                    ["Origin": "https://a.example", "Access-Control-Request-Method": "GET"], 204
                ),
            ]
            for (method, path, caller, others, status) in asked {
                let all = headers.merging(others) { $1 }
                #expect(try await harness.call(method, path, as: caller, headers: all).status == status, "\(path)")
            }
            #expect(self.queue.count == 0)
            #expect(log.lines.count >= asked.count && log.lines.allSatisfy { $0.fields["trace_id"] == nil })
            // Who is let in has both, also where that is refused.
            let answer = try await harness.call(.get, "/api/keys", as: .user("alice"), headers: headers)
            #expect(answer.status == 403)
            #expect(self.queue.take().map(\.place.trace.description) == [Self.trace])
            #expect(log.lines.contains { $0.fields["trace_id"] == Self.trace })
        }
    }
}
