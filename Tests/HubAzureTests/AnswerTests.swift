import HubAzure
import HubWire
import PushModel
import RawHTTP
import Testing
import Undisturbed

/// What the answers of a hub mean (contract, sections 3, 12 and 16.2).
@Suite("Refusals of an Azure hub", .timeLimit(.minutes(5)), .undisturbed)
struct AnswerTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let status: Int
        let kind: AzureHubError.Kind
        var retryAfter: String?
        /// Whether a send may have been taken all the same.
        var mayHaveBeenTaken = false

        var testDescription: String { "\(self.status) \(self.retryAfter ?? "")" }
    }

    static let rows = [
        Row(status: 301, kind: .refused), Row(status: 400, kind: .refused), Row(status: 401, kind: .unauthorized),
        Row(status: 403, kind: .forbidden), Row(status: 403, kind: .throttled, retryAfter: "10"),
        Row(status: 404, kind: .notFound), Row(status: 408, kind: .retryLater, mayHaveBeenTaken: true),
        Row(status: 409, kind: .conflict),
        Row(status: 409, kind: .throttled, retryAfter: "10"), Row(status: 410, kind: .gone),
        Row(status: 412, kind: .preconditionFailed), Row(status: 413, kind: .tooLarge),
        Row(status: 418, kind: .refused),
        Row(status: 429, kind: .throttled), Row(status: 429, kind: .throttled, retryAfter: "10"),
        Row(status: 500, kind: .retryLater, mayHaveBeenTaken: true), Row(status: 501, kind: .refused),
        Row(status: 502, kind: .retryLater, mayHaveBeenTaken: true), Row(status: 503, kind: .retryLater),
        Row(status: 503, kind: .retryLater, retryAfter: "10"),
        Row(status: 504, kind: .retryLater, mayHaveBeenTaken: true), Row(status: 505, kind: .refused),
        Row(status: 507, kind: .retryLater, mayHaveBeenTaken: true),
        Row(status: 520, kind: .retryLater, mayHaveBeenTaken: true),
        Row(status: 524, kind: .retryLater, retryAfter: "10", mayHaveBeenTaken: true),
    ]

    private func send(_ scripted: ScriptedHub) async throws {
        _ = try await scripted.hub.send(AzureSend(.native(.apple), body: Array("{}".utf8), to: .all))
    }

    @Test("each status has its class, and is asked for once", arguments: Self.rows)
    func classes(row: Row) async throws {
        let headers = (row.retryAfter.map { [("Retry-After", $0)] } ?? []) + [("TrackingId", "theirs")]
        try await ScriptedHub.with(.refusal(row.status, "Some words.TrackingId:x_G1,TimeStamp:1/1/2026", headers)) {
            scripted in
            let error = try await failure { try await self.send(scripted) }
            #expect(error.kind == row.kind && error.status == row.status)
            #expect(error.retryAfter == row.retryAfter.map { _ in .seconds(10) })
            #expect(error.mayHaveBeenTaken == row.mayHaveBeenTaken)
            #expect(error.trackingID == "theirs")
            #expect(error.message.hasSuffix(": Some words"))
            #expect(error.description.contains("(status \(row.status))"))
        }
    }

    @Test(
        "Retry-After is seconds or a date, and bounded",
        arguments: [
            ("0", Duration.zero), ("120", .seconds(120)), ("Fri, 15 Jan 2027 08:00:30 GMT", .seconds(30)),
            ("Fri, 15 Jan 2027 07:00:00 GMT", .zero), ("99999999999999999999", .seconds(7 * 86_400)), ("soon", nil),
            ("-5", nil), ("", nil),
        ]
    )
    func retryAfter(text: String, wait: Duration?) async throws {
        try await ScriptedHub.with(.refusal(429, "", [("Retry-After", text)])) { scripted in
            let error = try await failure { try await self.send(scripted) }
            #expect(error.kind == .throttled && error.retryAfter == wait)
        }
    }

    @Test(
        "a refusal in any form is a refusal",
        arguments: [
            "", "<Error>", "<html><body>Bad gateway</body></html>", #"{"error":1}"#, "\u{0}\u{1}",
            #"<!DOCTYPE Error [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><Error><Code>400</Code><Detail>&b;</Detail></Error>"#,
            #"<!DOCTYPE Error SYSTEM "file:///etc/passwd"><Error><Detail>x</Detail></Error>"#,
            String(repeating: "<Error>", count: 20_000),
        ]
    )
    func hostileBodies(text: String) async throws {
        try await ScriptedHub.with(.xml(400, text)) { scripted in
            let error = try await failure { try await self.send(scripted) }
            #expect(error.kind == .refused && error.message == "the hub refuses the request")
        }
    }

    @Test("words of a hub lose keys, handles and control characters, and are cut")
    func words() async throws {
        let handle = String(repeating: "A1", count: 32)
        let text = "bad \(ScriptedHub.key) and \(handle) &#10;\u{7F} " + String(repeating: "x ", count: 1000)
        try await ScriptedHub.with(.refusal(400, text)) { scripted in
            let error = try await failure { try await self.send(scripted) }
            #expect(error.message.contains("bad … and A1A1… "))
            #expect(!error.message.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F })
            #expect(error.message.count < 400)
        }
    }

    @Test("a TrackingId that is none is not believed", arguments: [String(repeating: "a", count: 300), "a b", ""])
    func trackingIDs(text: String) async throws {
        try await ScriptedHub.with(.refusal(400, "", [("TrackingId", text)])) { scripted in
            let error = try await failure { try await self.send(scripted) }
            try #expect(error.trackingID == scripted.request["TrackingId"])
        }
    }
}
