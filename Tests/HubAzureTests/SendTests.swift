import HubAzure
import HubWire
import PushModel
import RawHTTP
import Testing
import Undisturbed

/// Sends through a hub's client (contract, section 6).
@Suite("Sends to an Azure hub", .timeLimit(.minutes(5)), .undisturbed)
struct SendTests {
    private static let payload = Array(#"{"aps":{"alert":"Hello"}}"#.utf8)
    private static let messages = "/shop/messages?api-version=2020-06"
    private static let id = "3F2504E04F8911D39A0C0305E82C3301-20261124080000-1-2"

    private static func taken(_ path: String = "messages", tracking: String? = nil) -> RawServer.Reply {
        let location = ("Location", "https://ns.servicebus.windows.net/shop/\(path)/\(self.id)?api-version=2020-06")
        return .answer(201, [location] + (tracking.map { [("TrackingId", $0)] } ?? []))
    }

    private static func send(
        _ format: AzureSend.Format = .native(.apple),
        to target: AzureSend.Target = .all,
        _ change: (inout AzureSend) -> Void = { _ in }
    ) -> AzureSend {
        var send = AzureSend(format, body: self.payload, to: target)
        change(&send)
        return send
    }

    static let kinds: [(AzureSend.Format, String, String)] = [
        (.native(.apple), "apple", "application/json;charset=utf-8"),
        (.native(.fcmV1), "fcmv1", "application/json;charset=utf-8"),
        (.native(.gcm), "gcm", "application/json;charset=utf-8"),
        (.native(.windows), "windows", "application/xml"),
        (.native(.windowsPhone), "windowsphone", "application/xml;charset=utf-8"),
        (.native(.adm), "adm", "application/json;charset=utf-8"),
        (.native(.baidu), "baidu", "application/json;charset=utf-8"),
        (.native(.browser), "browser", "application/json;charset=utf-8"),
        (.native(.xiaomi), "xiaomi", "application/json;charset=utf-8"),
        (.template, "template", "application/json;charset=utf-8"),
    ]

    @Test("each format goes to everybody with its name and media type", arguments: Self.kinds)
    func formats(format: AzureSend.Format, name: String, type: String) async throws {
        try await ScriptedHub.with(Self.taken()) { scripted in
            let receipt = try await scripted.hub.send(Self.send(format))
            #expect(receipt.notificationID == Self.id)
            let request = try scripted.request
            #expect(request.method == "POST" && request.target == Self.messages)
            #expect(request["ServiceBusNotification-Format"] == name && request["Content-Type"] == type)
            #expect(request["ServiceBusNotification-Tags"] == nil)
            #expect(request.body == Self.payload)
        }
    }

    @Test("a raw notification of Windows is bytes, and a caller's own media type counts")
    func mediaTypes() async throws {
        try await ScriptedHub.with(Self.taken(), Self.taken()) { scripted in
            _ = try await scripted.hub.send(Self.send(.native(.windows)) { $0.headers = [("X-WNS-Type", "wns/raw")] })
            _ = try await scripted.hub.send(Self.send(.native(.windows)) { $0.contentType = "application/json" })
            #expect(
                scripted.requests.map { $0["Content-Type"] } == ["application/octet-stream", "application/json"]
            )
        }
    }

    @Test("an expression goes as it is, and an empty one goes nowhere")
    func expression() async throws {
        try await ScriptedHub.with(Self.taken()) { scripted in
            let text = "(username:ann || news) && !$InstallationId:{x-1}"
            _ = try await scripted.hub.send(Self.send(to: .expression(text)))
            try #expect(scripted.request["ServiceBusNotification-Tags"] == text)
            let error = try await failure { _ = try await scripted.hub.send(Self.send(to: .expression(""))) }
            #expect(error.kind == .refused && !error.mayHaveBeenTaken)
            #expect(scripted.requests.count == 1)
        }
    }

    @Test("headers of the platforms are passed through")
    func headers() async throws {
        let headers = [
            ("apns-push-type", "background"), ("apns-priority", "5"), ("apns-collapse-id", "c"),
            ("ServiceBusNotification-Apns-Expiry", "2026-11-25T00:00+00:00"), ("X-WNS-TTL", "60"),
            ("X-NotificationClass", "2"), ("X-Baidu-Message-Type", "1"), ("P256DH", "p"), ("Auth", "a"),
        ]
        try await ScriptedHub.with(Self.taken()) { scripted in
            _ = try await scripted.hub.send(Self.send { $0.headers = headers })
            let request = try scripted.request
            for (name, value) in headers { #expect(request[name] == value) }
        }
    }

    @Test(
        "a header that would change the call is refused before anything is sent",
        arguments: [
            ("Authorization", "x"), ("host", "x"), ("Content-Length", "0"), ("servicebusnotification-tags", "x"),
            ("ServiceBusNotification-DeviceHandle", "x"), ("TrackingId", "x"), ("X-Y", "a\r\nX-Z: b"), ("X Y", "a"),
            ("", "a"),
        ]
    )
    func hostileHeaders(name: String, value: String) async throws {
        try await ScriptedHub.with { scripted in
            let error = try await failure {
                _ = try await scripted.hub.send(Self.send { $0.headers = [(name, value)] })
            }
            #expect(error.kind == .refused && !error.mayHaveBeenTaken)
            #expect(scripted.requests.isEmpty)
        }
    }

    @Test("a direct send names one device")
    func direct() async throws {
        try await ScriptedHub.with(Self.taken()) { scripted in
            _ = try await scripted.hub.send(Self.send(to: .handle("AB01")))
            let request = try scripted.request
            #expect(request.target == "/shop/messages?direct&api-version=2020-06")
            #expect(request["ServiceBusNotification-DeviceHandle"] == "AB01")
            #expect(request["ServiceBusNotification-Tags"] == nil && request.body == Self.payload)
        }
    }

    @Test("a batch has the notification and its devices as two parts")
    func batch() async throws {
        let handles = (0..<1000).map { "handle-\($0)\"" }
        try await ScriptedHub.with(Self.taken("messages/$batch")) { scripted in
            let receipt = try await scripted.hub.send(Self.send(.native(.fcmV1), to: .handles(handles)))
            #expect(receipt.notificationID == Self.id)
            let request = try scripted.request
            #expect(request.target == "/shop/messages/$batch?direct&api-version=2020-06")
            let type = try #require(request["Content-Type"])
            #expect(type.hasPrefix("multipart/mixed; boundary=\""))
            let body = try DirectSendBody(reading: request.body, contentType: type)
            #expect(body.handles == handles && body.notification == Self.payload)
            #expect(body.notificationType == "application/json;charset=utf-8")
            for count in [0, 1001] {
                let error = try await failure {
                    _ = try await scripted.hub.send(Self.send(to: .handles(Array(repeating: "x", count: count))))
                }
                #expect(error.kind == .refused)
            }
            #expect(scripted.requests.count == 1)
        }
    }

    @Test("a scheduled send says when, and is cancelled by its id")
    func scheduled() async throws {
        let id = "3F25_20261124"
        let reply = RawServer.Reply.answer(
            201,
            [("Location", "https://ns/shop/schedulednotifications/\(id)?api-version=2020-06")]
        )
        try await ScriptedHub.with(reply, .answer(200), .refusal(404)) { scripted in
            let receipt = try await scripted.hub.send(
                Self.send(to: .expression("a")) { $0.scheduledAt = ScriptedHub.start }
            )
            #expect(receipt.notificationID == id)
            try await #expect(scripted.hub.cancelScheduled(id))
            try await #expect(!scripted.hub.cancelScheduled(id))
            let requests = scripted.requests
            #expect(requests[0].target == "/shop/schedulednotifications?api-version=2020-06")
            #expect(requests[0]["ServiceBusNotification-ScheduleTime"] == "2027-01-15T08:00:00")
            #expect(requests[1].method == "DELETE")
            #expect(requests[1].target == "/shop/schedulednotifications/\(id)?api-version=2020-06")
            for target in [AzureSend.Target.handle("x"), .handles(["x"])] {
                let error = try await failure {
                    _ = try await scripted.hub.send(Self.send(to: target) { $0.scheduledAt = ScriptedHub.start })
                }
                #expect(error.kind == .refused)
            }
            #expect(scripted.requests.count == 3)
        }
    }

    @Test("the hub's TrackingId is told, else ours; a tier without ids gives none")
    func receipts() async throws {
        try await ScriptedHub.with(Self.taken(tracking: "theirs"), .answer(201), .answer(200)) { scripted in
            let send = Self.send { $0.trackingID = "ours" }
            try await #expect(scripted.hub.send(send).trackingID == "theirs")
            let receipt = try await scripted.hub.send(send)
            #expect(receipt.notificationID == nil && receipt.trackingID == "ours")
            try await #expect(scripted.hub.send(send).notificationID == nil)
            #expect(scripted.requests.allSatisfy { $0["TrackingId"] == "ours" })
        }
    }

    // MARK: Telemetry

    @Test("telemetry is read, with states and platforms that nobody knows")
    func telemetry() async throws {
        let text = """
            <?xml version="1.0"?><NotificationDetails xmlns="\(WireNames.connect)"><NotificationId>\(Self.id)</NotificationId>\
            <Location>sb://ns/shop/messages/x</Location><State>Completed</State><EnqueueTime>2026-11-24T08:00:00.123Z</EnqueueTime>\
            <NotificationBody>&lt;x/&gt;</NotificationBody><TargetPlatforms>apple, windowstemplate,fcmv1</TargetPlatforms>\
            <FcmV1OutcomeCounts><Outcome><Name>Success</Name><Count>3</Count></Outcome><Outcome><Name>Huge</Name>\
            <Count>99999999999999999999</Count></Outcome></FcmV1OutcomeCounts><ApnsOutcomeCounts><Outcome><Name>Success</Name>\
            <Count>2</Count></Outcome><Outcome><Name>BadChannel</Name><Count>1</Count></Outcome></ApnsOutcomeCounts>\
            <PnsErrorDetailsUri>https://blob/x</PnsErrorDetailsUri></NotificationDetails>
            """
        try await ScriptedHub.with(.xml(200, text)) { scripted in
            guard case .details(let told) = try await scripted.hub.telemetry(of: Self.id) else {
                Issue.record("there are no details")
                return
            }
            try #expect(scripted.request.target == "/shop/messages/\(Self.id)?api-version=2020-06")
            #expect(told.state == .completed && told.state.isFinal)
            #expect(told.enqueued?.iso8601 == "2026-11-24T08:00:00.123Z")
            #expect(told.platforms == [.apple, .windows, .fcmV1] && told.isForTemplates)
            #expect(told.errorDetails == "https://blob/x")
            let counts = told.counts.map { ($0.platform, $0.outcomes) }
            #expect(counts.map(\.0) == [.apple, .fcmV1])
            #expect(counts[0].1 == [.init("Success", 2), .init("BadChannel", 1)])
            #expect(counts[1].1 == [.init("Success", 3)])
        }
    }

    @Test(
        "a state is final or is asked for again",
        arguments: [
            ("Enqueued", false), ("Processing", false), ("Scheduled", false), ("Completed", true), ("Abandoned", true),
            ("NoTargetFound", true), ("Canceled", true), ("Cancelled", true), ("Something", false),
        ]
    )
    func states(state: String, isFinal: Bool) async throws {
        let text = "<NotificationDetails><State>\(state)</State></NotificationDetails>"
        try await ScriptedHub.with(.xml(200, text)) { scripted in
            guard case .details(let told) = try await scripted.hub.telemetry(of: "1") else {
                Issue.record("there are no details")
                return
            }
            #expect(told.state.isFinal == isFinal)
        }
    }

    @Test("telemetry may come later or never, and a quota is neither")
    func missingTelemetry() async throws {
        let wait = [("Retry-After", "9")]
        try await ScriptedHub.with(.refusal(404), .refusal(403), .refusal(403, "quota", wait), .xml(200, "<x/>")) {
            scripted in
            guard case .notYet = try await scripted.hub.telemetry(of: "1"),
                case .notOffered = try await scripted.hub.telemetry(of: "1")
            else {
                Issue.record("it is something else")
                return
            }
            let quota = try await failure { _ = try await scripted.hub.telemetry(of: "1") }
            #expect(quota.kind == .throttled && quota.retryAfter == .seconds(9))
            try await #expect(failure { _ = try await scripted.hub.telemetry(of: "1") }.kind == .unanswered)
        }
    }
}
