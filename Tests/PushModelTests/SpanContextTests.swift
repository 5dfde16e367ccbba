import Testing

@testable import PushModel

/// W3C's header, as callers and whoever may publish messages write them.
@Suite struct SpanContextTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"
    private static let parent = "00-\(trace)-\(span)-01"

    @Test func theHeaderIsReadAndWritten() throws {
        let context = try #require(SpanContext(traceparent: Self.parent))
        #expect(context.trace.description == Self.trace && context.span.description == Self.span)
        #expect(context.isSampled && context.traceparent == Self.parent)
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
    func whatIsNoHeaderIsNone(text: String) { #expect(SpanContext(traceparent: text) == nil) }

    @Test func idsAreNeverZeroAndDiffer() {
        let traces = (0..<100).map { _ in TraceID.random() }
        #expect(Set(traces).count == 100 && traces.allSatisfy { $0.description.utf8.count == 32 })
        #expect(Set((0..<100).map { _ in SpanID.random() }).count == 100)
        #expect(TraceID(high: 0, low: 0) == nil && SpanID(0) == nil)
    }
}
