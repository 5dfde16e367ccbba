import PushModel
import Testing

@testable import Payloads

@Suite struct WebPushPayloadTests {
    private static func text(_ message: Content.Message) throws -> String {
        String(decoding: try PayloadFormatter.format(.message(message), for: .web).body, as: UTF8.self)
    }

    @Test func aMessageIsJSONForTheServiceWorker() throws {
        #expect(
            try Self.text(.init(title: "Sale", body: "begins", data: ["b": "2", "a": "1"]))
                == #"{"title":"Sale","body":"begins","data":{"a":"1","b":"2"}}"#
        )
        #expect(try Self.text(.init(body: "<b>\"\u{1}")) == #"{"body":"<b>\"\u0001"}"#)
        #expect(try Self.text(.init(data: ["a": "1"])) == #"{"data":{"a":"1"}}"#)
    }

    private static func headers(
        _ payload: NativePayload? = nil,
        priority: Priority = .normal,
        keepUntil: Timestamp? = nil,
        collapse: String? = nil
    ) throws -> [String: String] {
        let payload = try payload ?? PayloadFormatter.format(.message(.init(body: "b")), for: .web)
        let now = Timestamp(milliseconds: 1_700_000_000_000)
        let headers = PushHeaders(payload, priority: priority, keepUntil: keepUntil, collapse: collapse, now: now)
        return Dictionary(uniqueKeysWithValues: headers.web().map { ($0.name, $0.value) })
    }

    @Test func headersSayHowLongHowUrgentAndWhatIsReplaced() throws {
        let now = Timestamp(milliseconds: 1_700_000_000_000)
        #expect(
            try Self.headers() == [
                "Content-Type": "application/octet-stream", "Content-Encoding": "aes128gcm", "TTL": "2419200",
            ]
        )
        #expect(try Self.headers(keepUntil: now.advanced(by: .seconds(90)))["TTL"] == "90")
        #expect(try Self.headers(keepUntil: now)["TTL"] == "0")
        #expect(try Self.headers(keepUntil: now.advanced(by: .seconds(-5)))["TTL"] == "0")
        #expect(try Self.headers(keepUntil: now.advanced(by: .seconds(90 * 86_400)))["TTL"] == "2592000")
        #expect(try Self.headers(priority: .high)["Urgency"] == "high")
        #expect(try Self.headers(priority: .low)["Urgency"] == "low")
        // Apple decodes a topic: `order` has a length that no base64url has, and `score_7` bits that are left over.
        for key in ["order", "score_7", "score_7-a", "a b", "é", String(repeating: "a", count: 33), "a\r\nX: y"] {
            let topic = try #require(try Self.headers(collapse: key)["Topic"])
            #expect(WebPushForm.isTopic(topic) && topic.utf8.count == 32, "\(key)")
        }
        #expect(try Self.headers(collapse: "a b")["Topic"] != Self.headers(collapse: "a c")["Topic"])
    }

    private static func form(_ payload: String, _ headers: [NativeForm.Header] = []) throws -> NativePayload {
        try NativeForm.web.read(try JSONReader.read(Array(payload.utf8)), headers: headers, of: AppSpec())
    }

    @Test func theSendersOwnFormGoesBeforeTheSendsOptions() throws {
        let declarative = #"{"web_push":8030,"notification":{"title":"t","navigate":"https://example.com/"}}"#
        let form = try Self.form(declarative, [("ttl", "9"), ("Urgency", "very-low"), ("topic", "news")])
        #expect(String(decoding: form.body, as: UTF8.self) == declarative)
        let headers = try Self.headers(form, priority: .high, keepUntil: .now, collapse: "c")
        #expect(headers["TTL"] == "9" && headers["Urgency"] == "very-low" && headers["Topic"] == "news")
    }

    @Test(arguments: [
        ("TTL", "-1"), ("TTL", "1.5"), ("TTL", "12345678"), ("Urgency", "urgent"), ("Topic", "a b"),
        ("Topic", String(repeating: "a", count: 33)), ("Topic", "t"), ("Topic", "order"), ("Topic", "ab"),
        ("Topic", "abd"),
        ("Topic", String(repeating: "A", count: 36)), ("Authorization", "vapid t=x"), ("Content-Encoding", "aesgcm"),
    ])
    func wrongHeadersAreRefused(name: String, value: String) {
        let error = #expect(throws: InvalidValue.self) { try Self.form(#"{"a":1}"#, [(name, value)]) }
        #expect(error?.member == "headers.\(name)")
    }

    /// The pattern of the API's description says the same as the check.
    @Test func theDescriptionsPatternIsTheCheck() throws {
        let line = try #require(WebPushForm.schema.split(separator: "\n").last { $0.contains("pattern:") })
        let pattern = try Regex(String(line.split(separator: "\"")[1]))
        for text in [
            "A", "AA", "AB", "AAA", "AAB", "AAE", "abcd", "order", "orderQ", "news", "a b", "aaaa=", "AA==", "a+/b",
            "-_-_",
            String(repeating: "A", count: 31), String(repeating: "A", count: 32), String(repeating: "A", count: 33), "",
        ] {
            #expect((try pattern.wholeMatch(in: text) != nil) == WebPushForm.isTopic(text), "\(text)")
        }
    }

    @Test(arguments: ["{}", "[]", "5", #""text""#, #"{"a":1,"a":2}"#])
    func wrongPayloadsAreRefused(payload: String) {
        #expect(throws: InvalidValue.self) { try Self.form(payload) }
    }

    @Test func aFormMayHave3993Bytes() throws {
        func size(_ count: Int) throws -> PayloadFormatter.Measured {
            let form = try Self.form(#"{"a":"\#(String(repeating: "x", count: count - 8))"}"#)
            return try PayloadFormatter.measure(.native(.init(message: nil, forms: [form])), for: .web)
        }
        #expect(try size(3993).excess == nil)
        #expect(try size(3994).excess?.member == "native.web.payload")
    }
}
