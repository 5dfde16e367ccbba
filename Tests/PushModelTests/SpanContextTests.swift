import Testing

@testable import PushModel

/// W3C's headers, as callers and whoever may publish messages write them.
@Suite struct SpanContextTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"
    private static let parent = "00-\(trace)-\(span)-01"

    @Test func theHeaderIsReadAndWritten() throws {
        let context = try #require(SpanContext(traceparent: Self.parent))
        #expect(context.trace.description == Self.trace && context.span.description == Self.span)
        #expect(context.isSampled && context.state == nil && context.traceparent == Self.parent)
        // Leading zeros stay.
        let small = try #require(
            SpanContext(traceparent: "00-\(String(repeating: "0", count: 31))1-0000000000000002-00")
        )
        #expect(small.traceparent == "00-00000000000000000000000000000001-0000000000000002-00")
        #expect(!small.isSampled && small.trace == TraceID(high: 0, low: 1))
    }

    /// Only the last bit of the flags has a meaning here, and others are not given on.
    @Test(arguments: [("00", false), ("01", true), ("02", false), ("03", true), ("fe", false), ("ff", true)])
    func flagsAreRead(flags: String, isSampled: Bool) throws {
        let context = try #require(SpanContext(traceparent: "\(Self.parent.dropLast(2))\(flags)"))
        #expect(context.isSampled == isSampled && context.traceparent.hasSuffix(isSampled ? "-01" : "-00"))
    }

    @Test(arguments: ["", "-", "-what comes then", "-" + String(repeating: "x", count: 100_000)])
    func theBeginningOfALaterVersionCounts(rest: String) throws {
        let context = try #require(SpanContext(traceparent: "cc\(Self.parent.dropFirst(2))\(rest)"))
        #expect(context.traceparent == Self.parent)
    }

    @Test(arguments: [
        "", "00", "x", String(repeating: "0", count: 55), String(repeating: "-", count: 55), String(parent.dropLast()),
        "\(parent)-", "\(parent)0", "\(parent) ", " \(parent)", "\(parent), \(parent)", "ff\(parent.dropFirst(2))",
        "cc\(parent.dropFirst(2))x", "cc\(parent.dropFirst(2)), \(parent)", "0G\(parent.dropFirst(2))",
        "00-\(trace.uppercased())-\(span)-01", "00-\(trace)-\(span.uppercased())-01", "00-\(trace)-\(span)-0A",
        "00-\(String(repeating: "0", count: 32))-\(span)-01", "00-\(trace)-0000000000000000-01",
        "00_\(trace)-\(span)-01", "00-\(trace)-\(span)_01", "00-\(trace.dropLast())-0\(span)-01",
        "00-\(trace)-\(span.dropLast())g-01", "00-\(trace)-\(span)- 1", "00-+\(trace.dropFirst())-\(span)-01",
        "00-\(trace.dropLast())é-\(span)-01", "00-\(trace)-\(span)-0\u{0}", "00-\(trace)-\(span)-٠١",
    ])
    func whatIsNoHeaderIsNone(text: String) { #expect(SpanContext(traceparent: text, tracestate: "a=1") == nil) }

    // MARK: What others have to say

    @Test(arguments: [
        ("congo=t61rcWkgMzE", "congo=t61rcWkgMzE"), ("a=1,b=2", "a=1,b=2"), (" a=1 ,\tb=2 ,, ", "a=1,b=2"),
        ("a=x y", "a=x y"), ("0a=1", "0a=1"), ("fw529a3039@dt=FfAAAABI", "fw529a3039@dt=FfAAAABI"),
        ("a_-*/b=!~", "a_-*/b=!~"),
        ("\(String(repeating: "k", count: 200))=1", "\(String(repeating: "k", count: 200))=1"),
    ])
    func theStateIsGivenOn(text: String, kept: String) throws {
        #expect(try #require(SpanContext(traceparent: Self.parent, tracestate: text)).state == kept)
    }

    /// Of it nothing is given on, and the rest of the context is as good as without it.
    @Test(arguments: [
        "", " , ", "a", "a=", "=1", "A=1", "a=1,a=2", "a=1=2", "a=1,b", "a b=1", "a=ä", "a=\u{7f}", "a=1\n", "_a=1",
        "é=1",
        "\(String(repeating: "k", count: 257))=1", "a=\(String(repeating: "v", count: 257))",
        (0..<33).map { "k\($0)=v" }.joined(separator: ","), String(repeating: ",", count: 100_000),
        String(repeating: "a=1,", count: 25_000),
    ])
    func aStateThatIsNoneIsLeftOut(text: String) throws {
        #expect(try #require(SpanContext(traceparent: Self.parent, tracestate: text)).state == nil)
    }

    /// Long members go first, then those that came first to this list, which stand last.
    @Test func aLongStateIsCutBetweenMembers() throws {
        let long = "long=\(String(repeating: "v", count: 200))"
        let short = (0..<12).map { "k\($0)=\(String(repeating: "v", count: 40))" }
        let text = ([short[0], long] + short.dropFirst()).joined(separator: ",")
        let state = try #require(SpanContext(traceparent: Self.parent, tracestate: text)?.state)
        #expect(state.utf8.count <= 512 && state == short.prefix(11).joined(separator: ","))
        let fitting = try #require(SpanContext(traceparent: Self.parent, tracestate: "\(long),a=1")?.state)
        #expect(fitting == "\(long),a=1")
    }

    @Test func idsAreNeverZeroAndDiffer() {
        let traces = (0..<100).map { _ in TraceID.random() }
        #expect(Set(traces).count == 100 && traces.allSatisfy { $0.description.utf8.count == 32 })
        #expect(Set((0..<100).map { _ in SpanID.random() }).count == 100)
        #expect(TraceID(high: 0, low: 0) == nil && SpanID(0) == nil)
    }
}
