import HTTPTypes
import HubWire
import PushModel
import Testing
import Undisturbed

/// What the headers of a send say: none that belongs to a known family is ignored.
@Suite("Headers of a send through a hub", .undisturbed)
struct HubSendHeaderTests {
    private static let apple = #"{"aps":{"alert":"x"}}"#

    private static func send(
        _ hub: HubHarness,
        _ format: String,
        _ body: String,
        _ headers: [String: String],
        path: String = "messages"
    ) async throws -> HubHarness.Answer {
        let format = ["ServiceBusNotification-Format": format]
        return try await hub.call(.post, "/default/\(path)", body: body, headers: format.merging(headers) { $1 })
    }

    private static func form(_ hub: HubHarness, _ answer: HubHarness.Answer) async throws -> NativePayload {
        #expect(answer.status == 201, "\(answer.text)")
        guard case .native(let native) = try await hub.send(of: answer).content, let form = native.forms.first else {
            throw InvalidValue("no native payload")
        }
        return form
    }

    @Test(
        "How long APNs is to keep it is heeded in each spelling of clients",
        arguments: [
            ("ServiceBusNotification-Apns-Expiry", "01/15/2027 08:00:00"),
            ("ServiceBusNotification-ApnsExpiry", "2027-01-15T08:00:00Z"), ("X-Apns-Expiration", "1800000000"),
            ("X-Apns-Expiration", "2027-01-15T08:00:00Z"), ("apns-expiration", "1800000000"),
        ]
    )
    func expiry(name: String, value: String) async throws {
        try await HubHarness.run { hub in
            let sent = try await Self.send(hub, "apple", Self.apple, [name: value])
            #expect(try await Self.form(hub, sent).header("apns-expiration") == "1800000000")
            let template = try await Self.send(hub, "template", #"{"a":"b"}"#, [name: value])
            guard case .template(let content) = try await hub.send(of: template).content else {
                throw InvalidValue("no template")
            }
            #expect(content.headers == [.init("apns-expiration", "1800000000")])
        }
    }

    @Test("Each header of APNs has two spellings; the plain one counts")
    func spellings() async throws {
        try await HubHarness.run { hub in
            let sent = try await Self.send(
                hub,
                "apple",
                Self.apple,
                [
                    "X-Apns-Priority": "5", "apns-priority": "10", "X-Apns-Collapse-Id": "c", "X-Apns-Topic": "other",
                    "X-Apns-Push-Type": "alert",
                ]
            )
            let form = try await Self.form(hub, sent)
            #expect(form.header("apns-priority") == "10" && form.header("apns-collapse-id") == "c")
            #expect(form.headers.count == 2)
            let late = try await Self.send(hub, "apple", Self.apple, ["X-Apns-Expiration": "soon"])
            #expect(late.status == 400 && late.text.contains("apns-expiration"), "\(late.text)")
        }
    }

    @Test("An unknown header of a known family is 400 that names it, whatever the format")
    func unknown() async throws {
        try await HubHarness.run { hub in
            for name in [
                "ServiceBusNotification-ApnsExpiration", "ServiceBusNotification-Tag", "X-Apns-Expiry", "apns-expiry",
                "X-WNS-Group", "X-WNS-SuppressPopup",
            ] {
                for (format, body) in [
                    ("apple", Self.apple), ("windows", "<toast/>"), ("fcmv1", #"{"message":{"data":{"a":"b"}}}"#),
                    ("template", #"{"a":"b"}"#),
                ] {
                    let answer = try await Self.send(hub, format, body, [name: "1"])
                    #expect(
                        answer.status == 400 && answer.text.lowercased().contains("\(name.lowercased()):"),
                        "\(name), \(format): \(answer.text)"
                    )
                }
            }
            // Those of another service than the send's are none of its business.
            let other = try await Self.send(hub, "apple", Self.apple, ["X-WNS-Type": "wns/toast", "X-Other": "1"])
            #expect(other.status == 201, "\(other.text)")
            let time = ["ServiceBusNotification-ScheduleTime": "2126-01-01T00:00:00"]
            let late = try await Self.send(hub, "apple", Self.apple, time)
            #expect(late.status == 400 && late.text.contains("ScheduleTime"), "it would go out at once: \(late.text)")
        }
    }

    @Test(
        "Without a type a notification for Windows is what its root element says",
        arguments: [
            ("<toast><visual/></toast>", NativePayload.Kind.toast), ("<badge value=\"7\"/>", .badge),
            ("<?xml version=\"1.0\"?>\n<!-- a --><tile><visual/></tile>", .tile),
        ]
    )
    func roots(body: String, kind: NativePayload.Kind) async throws {
        try await HubHarness.run { hub in
            #expect(try await Self.form(hub, await Self.send(hub, "windows", body, [:])).kind == kind)
            let other = kind == .toast ? "badge" : "toast"
            let wrong = try await Self.send(hub, "windows", body, ["X-WNS-Type": "wns/\(other)"])
            #expect(wrong.status == 400 && wrong.text.contains(other), "\(wrong.text)")
            let raw = try await Self.send(hub, "windows", body, ["X-WNS-Type": "wns/raw"])
            #expect(try await Self.form(hub, raw).kind == .raw)
            for text in ["<note/>", "text"] {
                let refused = try await Self.send(hub, "windows", text, [:])
                #expect(refused.status == 400 && refused.text.contains("X-WNS-Type"), "\(refused.text)")
            }
        }
    }

    @Test(
        "A send is scheduled by the rule of the API's at: a moment of the last day means at once, an older one is a mistake"
    )
    func times() async throws {
        try await HubHarness.run { hub in
            func schedule(_ time: String) async throws -> HubHarness.Answer {
                let headers = ["ServiceBusNotification-ScheduleTime": time]
                return try await Self.send(hub, "apple", Self.apple, headers, path: "schedulednotifications")
            }
            func ago(_ seconds: Int) -> String { Timestamp.now.advanced(by: .seconds(-seconds)).iso8601 }
            for (time, word) in [
                ("0001-01-01T00:00:00", "more than a day past"), (ago(86_400 + 60), "more than a day past"),
                (ago(-367 * 86_400), "within 366 days"), ("soon", "must be a time"),
            ] {
                let answer = try await schedule(time)
                #expect(
                    answer.status == 400 && answer.text.contains("ServiceBusNotification-ScheduleTime: ")
                        && answer.text.contains(word),
                    "\(time): \(answer.status) \(answer.text)"
                )
            }
            let now = try await schedule(ago(86_400 - 60))
            #expect(now.status == 201, "\(now.text)")
            #expect(try await hub.job(of: now).startsAt == nil)
        }
    }
}
