import Testing

@testable import Payloads
@testable import PushModel

/// Until when a service keeps what it gets, and no device is tried after.
@Suite struct KeepUntilTests {
    private static let begins = Timestamp(milliseconds: 1_000_000)

    private static func read(_ pns: PushService, _ payload: JSONValue, _ headers: [NativeForm.Header]) throws
        -> NativePayload
    {
        try #require(ServiceFormat.of(pns)).form.read(payload, headers: headers, of: AppSpec())
    }

    private static func json(_ text: String) throws -> JSONValue { try JSONReader.read(Array(text.utf8)) }

    private static func keepUntil(_ form: NativePayload, ttl: Duration? = .seconds(60)) throws -> Timestamp? {
        let content = Content.native(.init(message: nil, forms: [form]))
        let send = SendRequest(audience: .everyone, content: content, timeToLive: ttl)
        let options = PayloadFormatter.Options(
            send,
            for: form.kind.pns,
            priority: .normal,
            begins: Self.begins,
            now: Self.begins.advanced(by: .seconds(5))
        )
        let payload = try PayloadFormatter.format(content, for: form.kind.pns, options: options)
        return send.keepUntil(payload, begins: Self.begins)
    }

    /// What a form says of it, by service, and the milliseconds since 1970 that it means; 0 = now or never.
    @Test(arguments: [
        (PushService.apns, "apns-expiration", "2000", 2_000_000), (.apns, "apns-expiration", "0", 0),
        (.wns, "X-WNS-TTL", "30", 1_030_000), (.wns, "X-WNS-TTL", "0", 0), (.web, "TTL", "90", 1_090_000),
        (.web, "TTL", "0", 0),
    ])
    func aFormsHeaderSaysIt(_ pns: PushService, _ name: String, _ value: String, _ end: Int64) throws {
        let payload = pns == .wns ? JSONValue.string("<toast/>") : try Self.json(#"{"aps":{}}"#)
        let form = try Self.read(pns, payload, [(name, value)])
        #expect(try Self.keepUntil(form) == Timestamp(milliseconds: end))
        #expect(try Self.keepUntil(form, ttl: nil) == Timestamp(milliseconds: end))
        #expect(end != 0 || Timestamp(milliseconds: end) == DeliverBatch.nowOrNever)
    }

    @Test(arguments: [("600s", 1_600_000), ("0s", 0), ("0.5s", 1_000_500), ("1.0000001s", 1_001_001)])
    func aMessageOfFCMSaysIt(_ text: String, _ end: Int64) throws {
        let form = try Self.read(.fcm, try Self.json(#"{"data":{"k":"v"},"android":{"ttl":"\#(text)"}}"#), [])
        #expect(try Self.keepUntil(form) == Timestamp(milliseconds: end))
    }

    /// A form that was checked before it was stored; but a row is read as it is.
    @Test(
        arguments: [PushService.apns, .fcm, .wns, .web],
        ["9223372036854775807", "-9223372036854775808", "1e300", "inf", "nan"]
    )
    func noNumberEndsAnybody(_ pns: PushService, _ number: String) throws {
        let headers = ["apns-expiration", "X-WNS-TTL", "TTL"].map { NativePayload.Header($0, number) }
        let kind = try #require(pns.descriptor.kinds.first)
        let body = Array(#"{"android":{"ttl":"\#(number)s"}}"#.utf8)
        let payload = NativePayload(kind: kind, headers: headers, body: body)
        let end = try #require(ServiceFormat.of(pns)).form.keepUntil(payload, Self.begins)
        // Whoever asks how long that is.
        _ = end.map { Self.begins.duration(to: $0) }
        _ = PushHeaders(payload, priority: .normal, keepUntil: end, collapse: nil).web()
    }

    @Test func whereItSaysNothingTheSendDoes() throws {
        let forms = [
            try Self.read(.apns, try Self.json(#"{"aps":{}}"#), [("apns-priority", "5")]),
            try Self.read(.fcm, try Self.json(#"{"data":{"k":"v"},"android":{"priority":"HIGH"}}"#), []),
            // It is Android's alone, and the message is for others too.
            try Self.read(.fcm, try Self.json(#"{"data":{"k":"v"},"android":{"ttl":"9s"},"apns":{}}"#), []),
            try Self.read(.fcm, try Self.json(#"{"data":{"k":"v"},"android":{"ttl":"9s"},"webpush":{}}"#), []),
            try Self.read(.wns, .string("<toast/>"), []), try Self.read(.web, try Self.json(#"{"k":1}"#), []),
        ]
        for form in forms {
            #expect(try Self.keepUntil(form) == Timestamp(milliseconds: 1_060_000), "\(form.kind.pns)")
            #expect(try Self.keepUntil(form, ttl: nil) == nil, "\(form.kind.pns)")
        }
    }

    /// A form of one service says nothing of the others.
    @Test func theOthersHaveTheMessages() throws {
        let form = try Self.read(.apns, try Self.json(#"{"aps":{}}"#), [("apns-expiration", "2000")])
        let message = Content.Message(body: "b", members: MessageMembers([.init("fcm.ttl", .integer(7))]))
        let content = Content.native(.init(message: message, forms: [form]))
        let send = SendRequest(audience: .everyone, content: content, timeToLive: .seconds(60))
        let ends = try [PushService.fcm, .wns].map { pns in
            send.keepUntil(try PayloadFormatter.format(content, for: pns), begins: Self.begins)?.milliseconds
        }
        #expect(ends == [1_007_000, 1_060_000])
    }

    @Test func aTemplateSaysItForItsDevice() throws {
        let template = DeviceTemplate.Content(
            body: #"{"aps":{"alert":"$(message)"}}"#,
            headers: [],
            expiry: "$(until)",
            priority: nil
        )
        let properties = Content.Properties(["message": "m", "until": "2000"])
        let payload = try TemplateNotifications(properties, of: AppSpec()).payload(template, for: .apns)
        let send = SendRequest(audience: .everyone, content: .template(properties))
        #expect(send.keepUntil(payload, begins: Self.begins) == Timestamp(milliseconds: 2_000_000))
    }
}
