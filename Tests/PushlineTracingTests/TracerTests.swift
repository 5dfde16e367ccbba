import PushModel
import Settings
import Testing
import Tracing

@testable import PushlineTracing

/// What is recorded, where it stands, and how it is kept.
@Suite struct TracerTests {
    private let queue = SpanQueue()

    private func tracer(_ change: (inout TraceSettings) -> Void = { _ in }) -> SpanTracer {
        SpanTracer(TraceSettings(change), queue: self.queue)
    }

    private func context(sampled: Bool = true, low: UInt64 = 7) throws -> SpanContext {
        SpanContext(
            trace: try #require(TraceID(high: 1, low: low)),
            span: .random(),
            isSampled: sampled,
            state: "a=1"
        )
    }

    // MARK: Which traces

    @Test(arguments: [
        (TraceSettings.Sampler.alwaysOn, true, true, true), (.alwaysOff, false, false, false),
        (.ratio, true, true, true),
        (.parentOrOn, true, true, false), (.parentOrOff, false, true, false), (.parentOrRatio, true, true, false),
    ])
    func samplersDecideByTheirParent(kind: TraceSettings.Sampler, root: Bool, sampled: Bool, unsampled: Bool) throws {
        let tracer = self.tracer { $0.sampler = kind }
        #expect(tracer.startSpan("x", context: .topLevel).isRecording == root)
        let (yes, no) = (try self.context(), try self.context(sampled: false))
        #expect(tracer.startSpan("x", context: ServiceContext(under: yes)).isRecording == sampled)
        #expect(tracer.startSpan("x", context: ServiceContext(under: no)).isRecording == unsampled)
    }

    /// A share of the traces, the same in each process and for each span.
    @Test(arguments: [0, 0.25, 1]) func aRatioIsOfTraces(share: Double) throws {
        let sampler = Sampler(
            TraceSettings {
                $0.sampler = .ratio
                $0.samplerArg = share
            }
        )
        let traces = try (0..<400).map { number in
            try #require(TraceID(high: 0, low: UInt64(number) &* 0x9e37_79b9_7f4a_7c15 | 1))
        }
        let taken = traces.filter { sampler.takes($0, under: nil) }
        #expect(abs(Double(taken.count) / 400 - share) < 0.05)
        #expect(
            traces.filter { sampler.takes($0, under: SpanContext(trace: $0, span: .random(), isSampled: false)) }
                == taken
        )
        let largest = try #require(TraceID(high: 0, low: .max))
        #expect(sampler.takes(largest, under: nil) == (share == 1))
    }

    // MARK: Spans

    @Test func aSpanIsUnderItsParentAndHasItsState() throws {
        let parent = try self.context()
        let tracer = self.tracer()
        let span = tracer.startSpan("a", context: ServiceContext(under: parent), ofKind: .consumer)
        #expect(span.place.trace == parent.trace && span.place.span != parent.span && span.place.state == "a=1")
        let child = tracer.startSpan("b", context: span.context)
        child.operationName = "c"
        child.note { $0["n"] = 5 }
        child.end()
        child.end()
        child.note { $0["late"] = 1 }
        span.end()
        let spans = self.queue.take()
        #expect(spans.map(\.name) == ["c", "a"] && spans.map(\.parent) == [span.place.span, parent.span])
        #expect(spans[0].attributes.get("n") == .int64(5) && spans[0].attributes.count == 1)
        #expect(spans.allSatisfy { $0.end >= $0.start })
    }

    @Test func linksAreBoundedAndEachOnce() throws {
        let span = self.tracer().startSpan("a", context: .topLevel)
        let others = try (1...200).map { try self.context(low: $0) }
        span.link(to: others.prefix(2))
        span.link(to: others)
        span.end()
        #expect(self.queue.take().map(\.links) == [Array(others.prefix(RecordedSpan.maximumLinks))])
    }

    @Test func nothingIsLeftOfWhatIsNotRecordedOrDiscarded() throws {
        let tracer = self.tracer()
        let unsampled = try self.context(sampled: false)
        tracer.startSpan("a", context: ServiceContext(under: unsampled)).end()
        let span = tracer.startSpan("b", context: .topLevel)
        span.discard()
        span.end()
        #expect(self.queue.count == 0)
    }

    @Test func aClockThatIsSetBackEndsNoSpanBeforeItsStart() {
        let span = self.tracer().startSpan(
            "a",
            context: .topLevel,
            at: DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: 9)
        )
        span.end(at: DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: 5))
        #expect(self.queue.take().map(\.end) == [9])
    }

    // MARK: Work

    private struct Fault: Error {}

    @Test func workIsUnderItsSpan() async throws {
        let traces = Traces(self.tracer())
        let request = try #require(traces.request("GET", from: nil))
        let span = try #require(traces.begin("work", .internal, under: request.place))
        await traces.within(span) {
            #expect(traces.current == span.place)
            await withTaskGroup(of: Void.self) { $0.addTask { #expect(traces.current == span.place) } }
        }
        #expect(traces.current == nil)
        let failing = try #require(traces.begin("fails", .internal, under: request.place))
        await #expect(throws: Fault.self) { try await traces.within(failing) { throw Fault() } }
        let cancelled = try #require(traces.begin("cancelled", .internal, under: request.place))
        await #expect(throws: CancellationError.self) {
            try await traces.within(cancelled) { throw CancellationError() }
        }
        let spans = self.queue.take()
        #expect(spans.map { $0.status?.code } == [nil, .error, nil])
        // Its kind, and none of its words.
        #expect(spans[1].attributes.get("error.type") == .string("Fault") && spans[1].status?.message == nil)
    }

    @Test func withoutATracerNothingIsAsked() async throws {
        func never<Value>() -> Value? {
            Issue.record("it is asked")
            return nil
        }
        let traces = Traces.off
        #expect(!traces.isOn && traces.now == nil && traces.current == nil)
        #expect(traces.request(never() ?? "", from: never()) == nil)
        #expect(traces.begin(never() ?? "", .internal, under: never()) == nil)
        #expect(await traces.within(nil) { 5 } == 5)
        // Nor does a process that traces begin a trace for what comes of no request.
        #expect(Traces(self.tracer()).begin(never() ?? "", .internal, under: nil) == nil)
    }

    // MARK: Headers

    private struct Headers: Extractor, Injector {
        func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
        func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) { carrier[key] = value }
    }

    @Test func headersAreReadAndWritten() throws {
        let (tracer, parent) = (self.tracer(), try self.context())
        var carrier: [String: String] = [:]
        tracer.inject(ServiceContext(under: parent), into: &carrier, using: Headers())
        #expect(carrier == ["traceparent": parent.traceparent, "tracestate": "a=1"])
        var found = ServiceContext.topLevel
        tracer.extract(carrier, into: &found, using: Headers())
        #expect(found.span == parent)
        tracer.extract(["traceparent": "x"], into: &found, using: Headers())
        tracer.inject(.topLevel, into: &carrier, using: Headers())
        #expect(found.span == parent && carrier.count == 2)
    }
}
