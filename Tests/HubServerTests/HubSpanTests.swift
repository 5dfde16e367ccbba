import HTTPTypes
import LogRecorder
import Logging
import PushModel
import Settings
import Testing
import Tracing
import Undisturbed

@testable import PushlineTracing

/// The spans of requests to a hub: of those of a rule that is let in.
@Suite(.undisturbed) struct HubSpanTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"

    @Test func strangersAreNotRecordedWhateverTheySay() async throws {
        let (queue, log) = (SpanQueue(), LogRecorder())
        let traces = Traces(TraceSettings(), to: queue)
        try await HubHarness.run(logger: log.logger(.critical), traces: traces) { hub async throws in
            let headers = ["traceparent": "00-\(Self.trace)-00f067aa0ba902b7-01"]
            for (path, rule) in [("/default/registrations", nil), ("/x/y/z/of/nobody", nil), ("/x/y/z", "Full")] {
                let status = try await hub.call(.get, path, as: rule, headers: headers).status
                #expect([401, 404].contains(status), "\(path)")
            }
            #expect(queue.count == 0 && log.lines.count == 3)
            #expect(log.lines.allSatisfy { $0.fields["trace_id"] == nil })
            // A rule is let in, and may not do all.
            let answer = try await hub.call(.get, "/default/registrations", as: "Send", headers: headers)
            #expect([401, 403].contains(answer.status))
            let spans = queue.take()
            #expect(spans.map(\.place.trace.description) == [Self.trace] && spans.map(\.kind) == [.server])
            #expect(log.lines.last?.fields["trace_id"] == Self.trace)
        }
    }
}
