import Payloads
import PushModel
import Testing

@Suite struct MessagePayloadTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let message: Content.Message
        let apns: String
        let fcm: String
        let wns: String

        var testDescription: String { self.name }
    }

    static let cases = [
        Case(
            name: "title, body and data",
            message: .init(title: "T", body: "B", data: ["b": "2", "a": "1"]),
            apns: #"{"aps":{"alert":{"title":"T","body":"B"},"sound":"default"},"a":"1","b":"2"}"#,
            fcm: #"{"notification":{"title":"T","body":"B"},"data":{"a":"1","b":"2"}}"#,
            wns: "<toast launch=\"{&quot;a&quot;:&quot;1&quot;,&quot;b&quot;:&quot;2&quot;}\"><visual>"
                + "<binding template=\"ToastGeneric\"><text>T</text><text>B</text></binding></visual></toast>"
        ),
        Case(
            name: "body alone",
            message: .init(body: "B"),
            apns: #"{"aps":{"alert":"B","sound":"default"}}"#,
            fcm: #"{"notification":{"body":"B"}}"#,
            wns: "<toast><visual><binding template=\"ToastGeneric\"><text>B</text></binding></visual></toast>"
        ),
        Case(
            name: "title alone",
            message: .init(title: "T"),
            apns: #"{"aps":{"alert":{"title":"T"},"sound":"default"}}"#,
            fcm: #"{"notification":{"title":"T"}}"#,
            wns: "<toast><visual><binding template=\"ToastGeneric\"><text>T</text></binding></visual></toast>"
        ),
        Case(
            name: "silent",
            message: .init(data: ["k": "v"]),
            apns: #"{"aps":{"content-available":1},"k":"v"}"#,
            fcm: #"{"data":{"k":"v"}}"#,
            wns: #"{"k":"v"}"#
        ),
        Case(
            name: "nothing at all",
            message: .init(),
            apns: #"{"aps":{"content-available":1}}"#,
            fcm: #"{"data":{}}"#,
            wns: "{}"
        ),
    ]

    @Test(arguments: Self.cases)
    func payloadsOfEachService(_ row: Case) throws {
        let silent = row.message.isSilent
        for (pns, expected, kind) in [
            (PushService.apns, row.apns, silent ? NativePayload.Kind.background : .alert),
            (.fcm, row.fcm, .message),
            (.wns, row.wns, silent ? .raw : .toast),
        ] {
            let payload = try PayloadFormatter.format(.message(row.message), for: pns)
            #expect(String(decoding: payload.body, as: UTF8.self) == expected)
            #expect(payload.kind == kind)
        }
    }

    @Test(arguments: [
        (PayloadFormatter.Options(), ""),
        (.init(priority: .high), #","android":{"priority":"HIGH"}"#),
        (.init(priority: .low, timeToLive: .zero), #","android":{"priority":"NORMAL","ttl":"0s"}"#),
        (.init(timeToLive: .seconds(3600), collapse: "a\"b"), #","android":{"collapse_key":"a\"b","ttl":"3600s"}"#),
        (.init(timeToLive: .seconds(9_999_999)), #","android":{"ttl":"2419200s"}"#),
        (.init(timeToLive: .seconds(-5)), #","android":{"ttl":"0s"}"#),
    ])
    func optionsAreInTheFCMMessage(options: PayloadFormatter.Options, android: String) throws {
        let content = Content.message(.init(body: "B"))
        let payload = try PayloadFormatter.format(content, for: .fcm, options: options)
        #expect(String(decoding: payload.body, as: UTF8.self) == #"{"notification":{"body":"B"}"# + android + "}")
        // The other services are told in headers.
        for pns in [PushService.apns, .wns] {
            #expect(
                try PayloadFormatter.format(content, for: pns, options: options)
                    == PayloadFormatter.format(content, for: pns)
            )
        }
    }

    @Test(arguments: [
        (PushService.fcm, "from"), (.fcm, "gcm"), (.fcm, "gcm.notification.x"), (.fcm, "google.c.a"), (.fcm, "googlex"),
        (.fcm, "message_type"), (.fcm, "gcm\u{301}"), (.apns, "aps"),
    ])
    func reservedNamesAreRefused(pns: PushService, key: String) {
        let content = Content.message(.init(body: "B", data: [key: "v", "ok": "v"]))
        let error = #expect(throws: InvalidValue.self) { try PayloadFormatter.format(content, for: pns) }
        #expect(error?.member == "data.\(key)")
    }

    @Test(arguments: [
        (PushService.fcm, "From"), (.fcm, "fromage"), (.fcm, "aps"), (.fcm, "x.google"), (.apns, "from"),
        (.apns, "APS"),
        (.wns, "aps"), (.wns, "from"), (.wns, "gcm"),
    ])
    func otherNamesAreAccepted(pns: PushService, key: String) throws {
        let payload = try PayloadFormatter.format(.message(.init(data: [key: "v"])), for: pns)
        #expect(String(decoding: payload.body, as: UTF8.self).contains("\"\(key)\":\"v\""))
    }

    @Test(arguments: [(PushService.apns, 4096, 38), (.fcm, 4096, 26), (.wns, 5000, 88), (.web, 3993, 11)])
    func payloadsBeyondTheLimitAreRefused(pns: PushService, limit: Int, frame: Int) throws {
        let fits = Content.message(.init(body: String(repeating: "é", count: (limit - frame) / 2)))
        let payload = try PayloadFormatter.format(fits, for: pns)
        #expect(payload.body.count + 1 >= limit)
        let tooLarge = Content.message(.init(body: String(repeating: "x", count: limit - frame + 7)))
        let error = #expect(throws: InvalidValue.self) { try PayloadFormatter.format(tooLarge, for: pns) }
        #expect(error?.reason.contains("\(limit + 7) bytes, 7 more than the \(limit)") == true)
    }

    @Test func optionsDoNotCountTowardsTheFCMLimit() throws {
        let content = Content.message(.init(body: String(repeating: "x", count: 4096 - 26)))
        let options = PayloadFormatter.Options(priority: .high, timeToLive: .seconds(60), collapse: "key")
        #expect(try PayloadFormatter.format(content, for: .fcm, options: options).body.count > 4096)
    }

    @Test func aCollapseKeyOver64BytesIsRefused() throws {
        let content = Content.message(.init(body: "B"))
        let fits = PayloadFormatter.Options(collapse: String(repeating: "é", count: 32))
        let tooLong = PayloadFormatter.Options(collapse: String(repeating: "é", count: 32) + "x")
        for pns in PushService.allCases where pns.isInService {
            _ = try PayloadFormatter.format(content, for: pns, options: fits)
            let error = #expect(throws: InvalidValue.self) {
                try PayloadFormatter.format(content, for: pns, options: tooLong)
            }
            #expect(error?.member == "collapse")
        }
    }

    @Test func aRetiredServiceHasNoPayload() {
        #expect(throws: InvalidValue.self) { try PayloadFormatter.format(.message(.init(body: "B")), for: .mpns) }
    }
}
