import PushModel
import Testing

@Suite struct RequestIDTests {
    @Test(arguments: ["a", "0190-AF.b_9", String(repeating: "x", count: 64), "\(JobID.make())"])
    func whatCanStandInALineIsTaken(text: String) { #expect(RequestID(text)?.description == text) }

    /// What somebody would write who wants to forge a line, a field or another id.
    @Test(arguments: [
        "", String(repeating: "x", count: 65), "a,b", "a b", "a\nb", "a\r\n2026-11-26 error forged", "a\0",
        "\u{1B}[31m", "a\"b", "{}",
        "ä", "a\u{2028}", "a=b", "a/b",
    ])
    func whatCouldBeTakenForMoreIsNot(text: String) { #expect(RequestID(text) == nil) }

    // MARK: In a job's row

    private static let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    @Test func itIsStoredWithItsSpan() throws {
        let span = try #require(SpanContext(traceparent: Self.parent))
        let id = try #require(RequestID("r-1", span: span))
        #expect(id.stored == "r-1 \(Self.parent)")
        #expect(RequestID(stored: id.stored) == id && id.span == span)
        // A program that knows no spans has no id then, and nothing worse.
        #expect(RequestID(id.stored) == nil)
    }

    @Test func whatIsNotRecordedIsNotStored() throws {
        let span = try #require(SpanContext(traceparent: Self.parent.dropLast() + "0"))
        let id = try #require(RequestID("r-1", span: span))
        #expect(id.span == nil && id.stored == "r-1" && RequestID(stored: "r-1") == id)
    }

    /// Whoever writes rows, now or later.
    @Test(arguments: [
        "r-1 ", "r-1 x", "r-1 00-0-0-01", "r-1  ,=", "r-1 \(parent.dropLast())x", "r-1 \(parent) congo=t61",
    ])
    func aSpanThatCannotBeReadIsLeftOut(text: String) throws {
        let id = try #require(RequestID(stored: text))
        #expect(id.description == "r-1" && id.span == nil)
    }
}
