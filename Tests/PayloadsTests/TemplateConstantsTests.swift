import Payloads
import PushModel
import Testing

/// Templates that are refused when they are registered, because none of their notifications could be sent, and templates that are not.
@Suite("Constants of templates")
struct TemplateConstantsTests {
    private static let body = ##"{"aps":{"alert":"$(a)"}}"##
    private static let toast = "<toast><visual><text>$(a)</text></visual></toast>"

    private struct Case: Sendable {
        let pns: PushService
        let content: DeviceTemplate.Content
        /// The member that is refused; nil = the template is taken.
        let member: String?

        init(
            _ pns: PushService,
            _ body: String = TemplateConstantsTests.body,
            headers: [String: String] = [:],
            expiry: String? = nil,
            priority: String? = nil,
            refused member: String? = nil
        ) {
            self.pns = pns
            self.content = DeviceTemplate.Content(
                body: body,
                headers: headers.sorted { $0.key < $1.key }.map { NativePayload.Header($0.key, $0.value) },
                expiry: expiry,
                priority: priority
            )
            self.member = member
        }
    }

    private static let cases = [
        Case(.apns, priority: "10"), Case(.apns, priority: "5"), Case(.apns, priority: "$(p)"),
        Case(.apns, priority: "300", refused: "priority"), Case(.apns, priority: "high", refused: "priority"),
        Case(.apns, headers: ["apns-priority": "7"], refused: "headers.apns-priority"),
        Case(.apns, headers: ["apns-push-type": "background"], priority: "10", refused: "priority"),
        Case(.apns, headers: ["apns-push-type": "$(type)"], priority: "10"),
        Case(.apns, headers: ["apns-push-type": "shout"], refused: "headers.apns-push-type"),
        Case(.apns, headers: ["apns-expiration": "soon"], refused: "headers.apns-expiration"),
        Case(.apns, headers: ["apns-expiration": "$(e)"]), Case(.apns, headers: ["apns-topic": "com.example.other"]),
        Case(.apns, expiry: "tomorrow", refused: "expiry"),
        Case(.apns, expiry: "2027-13-01T00:00:00Z", refused: "expiry"),
        // The send may say another push type, which needs no aps.
        Case(.apns, "{}"), Case(.apns, #"{"a":"$(a)"}"#, headers: ["apns-push-type": "alert"], refused: "body.aps"),
        Case(.apns, #"{"a":"$(a)"}"#, headers: ["apns-push-type": "voip"]),
        Case(.apns, #"{"aps":1}"#, headers: ["apns-push-type": "alert"], refused: "body.aps"),
        Case(.apns, #"{"aps":{"event":"$(e)"}}"#, headers: ["apns-push-type": "liveactivity"]),
        Case(.apns, "<toast/>", refused: "body"), Case(.apns, #"["$(a)"]"#, refused: "body"),
        Case(.fcm, ##"{"message":{"android":{"ttl":"$(ttl)"}}}"##), Case(.fcm, ##"{"data":{"a":"#(a)"}}"##),
        Case(.fcm, "[]", refused: "body"), Case(.fcm, "<toast/>", refused: "body"),
        Case(.web, ##"{"title":"$(a)"}"##), Case(.web, "{}", refused: "body"), Case(.web, "[]", refused: "body"),
        Case(.wns, toast), Case(.wns, toast, headers: ["X-WNS-Type": "wns/toast"]),
        Case(.wns, toast, headers: ["X-WNS-Type": "$(t)"]),
        Case(.wns, toast, headers: ["X-WNS-Type": "wns/tile"], refused: "body"),
        Case(.wns, "<tile/>", headers: ["X-WNS-Type": "wns/tile"]),
        Case(.wns, #"{"a":"$(a)"}"#, headers: ["X-WNS-Type": "wns/toast"], refused: "body"),
        Case(.wns, "$(a)", headers: ["X-WNS-Type": "wns/raw"]),
        Case(.wns, toast, headers: ["X-WNS-Type": "toast"], refused: "headers.X-WNS-Type"),
        Case(.wns, toast, headers: ["X-WNS-Type": "wns/toast", "X-WNS-TTL": "long"], refused: "headers.X-WNS-TTL"),
    ]

    @Test("What can never be sent is refused by its member, and nothing else", arguments: cases)
    private func checks(_ each: Case) {
        do {
            try TemplatePayload.check(each.content, for: each.pns)
            #expect(each.member == nil, "\(each) is taken")
        } catch { #expect(error.member == each.member, "\(each): \(error)") }
    }

    @Test(
        "An expiry is taken as clients write it, and sent in seconds",
        arguments: [
            ("1997-07-16T19:20+01:00", "869077200"), ("01/15/2027 08:00:00", "1800000000"),
            ("01/15/2027 08:00:00 AM", "1800000000"), ("1/15/2027 8:00:00 am", "1800000000"),
            ("01/15/2027 08:00:00 PM", "1800043200"), ("12/31/2026 12:00:00 AM", "1798675200"),
            ("2027-01-15", "1799971200"), ("2027-01-15T08:00:00", "1800000000"), ("0", "0"),
            ("9999-12-31T23:59:59.9999999", "99999999999"), ("1800000000", "1800000000"),
        ]
    )
    func expiries(text: String, seconds: String) throws {
        for expiry in [text, "$(when)"] {
            let content = DeviceTemplate.Content(body: Self.body, expiry: expiry)
            try TemplatePayload.check(content, for: .apns)
            let properties = Content.Properties(["a": "x", "when": text])
            let payload = try TemplateNotifications(properties, of: AppSpec()).payload(content, for: .apns)
            #expect(payload.header("apns-expiration") == seconds, "\(expiry)")
        }
    }
}
