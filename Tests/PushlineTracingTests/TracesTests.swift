import PushModel
import Settings
import Testing
import Tracing

@testable import PushlineTracing

/// What is recorded, where it stands, and how it is kept.
@Suite struct TracesTests {
    private let queue = SpanQueue()

    private func traces(_ change: (inout TraceSettings) -> Void = { _ in }) -> Traces {
        Traces(TraceSettings(change), to: self.queue)
    }

    private func context(sampled: Bool = true, low: UInt64 = 7) throws -> SpanContext {
        SpanContext(trace: try #require(TraceID(high: 1, low: low)), span: .random(), isSampled: sampled)
    }

    // MARK: Which traces

    @Test(arguments: [
        (TraceSettings.Sampler.alwaysOn, true, true, true), (.alwaysOff, false, false, false),
        (.ratio, true, true, true),
        (.parentOrOn, true, true, false), (.parentOrOff, false, true, false), (.parentOrRatio, true, true, false),
    ])
    func samplersDecideByTheirParent(kind: TraceSettings.Sampler, root: Bool, sampled: Bool, unsampled: Bool) throws {
        let traces = self.traces { $0.sampler = kind }
        #expect((traces.request("x", from: nil) != nil) == root)
        let (yes, no) = (try self.context(), try self.context(sampled: false))
        #expect((traces.request("x", from: yes) != nil) == sampled)
        #expect((traces.request("x", from: no) != nil) == unsampled)
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

    @Test func aSpanIsUnderItsParent() throws {
        let parent = try self.context()
        let traces = self.traces()
        let span = try #require(traces.begin("a", .consumer, under: parent))
        #expect(span.place.trace == parent.trace && span.place.span != parent.span && span.place.isSampled)
        let child = try #require(traces.begin("b", .internal, under: span.place))
        child.note { $0["n"] = 5 }
        #expect(child.end() && !child.end())
        child.note { $0["late"] = 1 }
        span.end()
        let spans = self.queue.take()
        #expect(spans.map(\.name) == ["b", "a"] && spans.map(\.parent) == [span.place.span, parent.span])
        #expect(spans[0].attributes.get("n") == .int64(5) && spans[0].attributes.count == 1)
        #expect(spans.allSatisfy { $0.end >= $0.start })
    }

    @Test func linksAreBoundedAndEachOnce() throws {
        let span = try #require(self.traces().request("a", from: nil))
        let others = try (1...200).map { try self.context(low: $0) }
        span.link(to: others.prefix(2))
        span.link(to: others)
        span.end()
        let links = try #require(self.queue.take().first).links
        #expect(links == Array(others.prefix(RecordedSpan.maximumLinks)))
    }

    @Test func nothingIsLeftOfWhatIsNotRecordedOrDiscarded() throws {
        let traces = self.traces()
        let unsampled = try self.context(sampled: false)
        #expect(traces.begin("a", .internal, under: unsampled) == nil)
        let span = try #require(traces.request("b", from: nil))
        span.discard()
        #expect(!span.end() && self.queue.count == 0)
    }

    /// What is under a span would be under nothing without it.
    @Test(arguments: [true, false]) func aSpanIsDiscardedUnlessWorkUnderItIsKept(isKept: Bool) async throws {
        let traces = self.traces()
        let outer = try #require(traces.request("outer", from: nil))
        await traces.within(outer) {
            let inner = traces.begin("inner", .internal, under: traces.current)
            await traces.within(inner) { if !isKept { inner?.discard() } }
            outer.discard()
        }
        #expect(self.queue.take().map(\.name) == (isKept ? ["inner", "outer"] : []))
    }

    @Test func aClockThatIsSetBackEndsNoSpanBeforeItsStart() throws {
        let start = DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: 9)
        let span = try #require(self.traces().request("a", from: nil, since: start))
        span.end(at: DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: 5))
        #expect(self.queue.take().map(\.end) == [9])
    }

    // MARK: Work

    private struct Fault: Error {}

    @Test func workIsUnderItsSpan() async throws {
        let traces = self.traces()
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
        #expect(spans.map(\.hasFailed) == [false, true, false])
        // Its kind, and none of its words.
        #expect(spans[1].attributes.get("error.type") == .string("Fault"))
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
        #expect(self.traces().begin(never() ?? "", .internal, under: nil) == nil)
    }
}
