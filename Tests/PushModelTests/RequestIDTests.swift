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
}
