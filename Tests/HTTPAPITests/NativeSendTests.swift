import HTTPTypes
import PushModel
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

/// What senders alone may do: forms of their own, checked before the send is accepted, and dry runs.
@Suite(.undisturbed) struct NativeSendTests {
    /// An app with a bundle id; its files are never read here.
    static let options: Harness.Options = {
        var options = Harness.Options()
        options.spec.apns = AppSpec.APNs {
            $0.authentication = .token(.init(keyFile: "/k", keyID: "K", teamID: "T"))
            $0.topic = "com.example.app"
        }
        return options
    }()

    private static func send(_ members: String) -> String { #"{"to":{"user":"bob"},\#(members)}"# }

    private static func request(_ answer: Harness.Answer, _ api: Harness) async throws -> SendRequest {
        let id = try #require(answer.json["id"]?.text.flatMap(JobID.init), "\(answer.text)")
        guard case .send(let send)? = try await api.store.job(id, app: .default)?.work else {
            throw StoreError(.corrupt, "no send")
        }
        return send
    }

    @Test func aFormWithoutAMessageGoesToItsServiceAlone() async throws {
        try await Harness.run(Self.options) { api async throws in
            let native = #""native":{"apns":{"payload":{"aps":{"badge":3}},"headers":{"apns-push-type":"background"}}}"#
            let answer = try await api.call(.post, "/api/sends", as: .user("desk"), body: Self.send(native))
            #expect(answer.status == 202, "\(answer.text)")
            #expect(answer.json["services"]?.elements.compactMap(\.text) == ["apns"])
            let form = NativePayload(kind: .background, body: Array(#"{"aps":{"badge":3}}"#.utf8))
            let send = try await Self.request(answer, api)
            #expect(send.content == .native(.init(message: nil, forms: [form])))
            #expect(send.platforms == [.apns])
        }
    }

    @Test func aFormMayStandBesideAMessage() async throws {
        try await Harness.run(Self.options) { api async throws in
            let native =
                #""native":{"wns":{"body":"<tile/>","headers":{"x-wns-type":"wns/tile","x-wns-tag":"a"}}},"title":"t""#
            let lines = try await api.call(.post, "/api/sends/batch", as: .user("desk"), body: Self.send(native))
            let id = try #require(JSONReader.read(Array(lines.text.utf8.prefix { $0 != 10 }))["id"]?.text)
            let answer = try await api.call(.get, "/api/jobs/\(id)", as: .user("desk"))
            #expect(answer.json["services"] == nil)
            let form = NativePayload(kind: .tile, headers: [.init("X-WNS-Tag", "a")], body: Array("<tile/>".utf8))
            let send = try await Self.request(answer, api)
            #expect(send.content == .native(.init(message: .init(title: "t"), forms: [form])))
        }
    }

    @Test(
        arguments: [
            (#""native":{}"#, "native"), (#""native":7"#, "native"), (#""native":null"#, "body"),
            (#""native":{"adm":{}}"#, "native.adm"), (#""native":{"apns":{}}"#, "native.apns.payload"),
            (#""native":{"apns":{"payload":{"aps":{}},"topic":"x"}}"#, "native.apns.topic"),
            (#""native":{"apns":{"payload":7}}"#, "native.apns.payload"),
            (#""native":{"apns":{"payload":{}}}"#, "native.apns.payload.aps"),
            (#""native":{"apns":{"payload":{"aps":{}},"headers":[]}}"#, "native.apns.headers"),
            (
                #""native":{"apns":{"payload":{"aps":{}},"headers":{"apns-priority":5}}}"#,
                "native.apns.headers.apns-priority"
            ),
            (#""native":{"apns":{"payload":{"aps":{}},"headers":{"apns-id":"x"}}}"#, "native.apns.headers.apns-id"),
            (
                #""native":{"apns":{"payload":{"aps":{}},"headers":{"apns-push-type":"x"}}}"#,
                "native.apns.headers.apns-push-type"
            ),
            (#""native":{"fcm":{"message":{"token":"x"}}}"#, "native.fcm.message.token"),
            (#""native":{"fcm":{"message":{"data":{}},"validate_only":true}}"#, "native.fcm.validate_only"),
            (#""native":{"wns":{"body":"<toast>"}}"#, "native.wns.body"),
            (#""native":{"wns":{"body":7}}"#, "native.wns.body"),
            (#""native":{"apns":{"payload":{"aps":{}}}},"services":["apns","fcm"]"#, "services"),
            (
                #""native":{"apns":{"payload":{"aps":{"x":"\#(String(repeating: "x", count: 4096))"}}}}"#,
                "native.apns.payload"
            ),
            (#""native":{"wns":{"body":"<toast>\#(String(repeating: "x", count: 5000))</toast>"}}"#, "native.wns.body"),
            (
                #""native":{"apns":{"payload":{"aps":{}}}},"body":"\#(String(repeating: "x", count: 6000))""#,
                "body"
            ),
        ]
    )
    func theRefusalNamesTheWrongMember(members: String, member: String) async throws {
        try await Harness.run(Self.options) { api async throws in
            let answer = try await api.call(.post, "/api/sends", as: .user("desk"), body: Self.send(members))
            #expect(answer.status == 400, "\(answer.text)")
            #expect(answer.wrongMembers == [member], "\(answer.text)")
            #expect(try await api.store.jobs(JobQuery(app: .default)).items.isEmpty)
        }
    }

    /// The service itself would cut off no more than we do: a text that its form replaces may be as long as others take.
    @Test func aMessageIsMeasuredForTheServicesThatGetIt() async throws {
        try await Harness.run(Self.options) { api async throws in
            let text = String(repeating: "x", count: 4500)
            let body = Self.send(
                #""body":"\#(text)","services":["apns","wns"],"native":{"apns":{"payload":{"aps":{"alert":"short"}}}}"#
            )
            #expect(try await api.call(.post, "/api/sends", as: .user("desk"), body: body).status == 202)
        }
    }

    @Test func aPreviewShowsWhatEachServiceWouldGet() async throws {
        try await Harness.run(Self.options) { api async throws in
            let members =
                #""title":"Sale","body":"begins","ttl":60,"collapse":"c","priority":"high","services":["apns","fcm","wns"],"#
                + #""native":{"wns":{"body":"<badge value=\"1\"/>","headers":{"X-WNS-Type":"wns/badge"}}}"#
            let answer = try await api.call(.post, "/api/sends/preview", as: .user("desk"), body: Self.send(members))
            #expect(answer.status == 200, "\(answer.text)")
            let services = try #require(answer.json["services"]?.elements)
            #expect(services.compactMap { $0["service"]?.text } == ["apns", "fcm", "wns"])
            let (apns, fcm, wns) = (services[0], services[1], services[2])
            #expect(apns["headers"]?["apns-topic"]?.text == "com.example.app")
            #expect(apns["headers"]?["apns-collapse-id"]?.text == "c")
            #expect(apns["headers"]?["apns-expiration"]?.text != nil && apns["headers"]?["authorization"] == nil)
            #expect(apns["payload"]?["aps"]?["alert"]?["title"]?.text == "Sale")
            #expect(apns["size"]?.number == 68 && apns["limit"]?.number == 4096 && apns["errors"] == nil)
            #expect(fcm["payload"]?["android"]?["collapse_key"]?.text == "c")
            #expect(
                fcm["errors"]?.elements.first?["reason"]?.text
                    == "the app has no FCM credentials; declare them with pushline apps apply"
            )
            #expect(wns["payload"]?.text == #"<badge value="1"/>"#)
            #expect(
                wns["headers"]?["X-WNS-Type"]?.text == "wns/badge" && wns["headers"]?["X-WNS-PRIORITY"]?.text == "1"
            )
            #expect(try await api.store.jobs(JobQuery(app: .default)).items.isEmpty)
        }
    }

    /// It is what a delivery takes: the same payload and headers come of it.
    @Test func aPreviewSaysHowMuchTooLargeAPayloadIs() async throws {
        try await Harness.run(Self.options) { api async throws in
            let text = String(repeating: "x", count: 5200)
            let body = Self.send(
                #""native":{"apns":{"payload":{"call":"\#(text)"},"headers":{"apns-push-type":"voip"}}}"#
            )
            let answer = try await api.call(.post, "/api/sends/preview", as: .user("desk"), body: body)
            let apns = try #require(answer.json["services"]?.elements.first, "\(answer.text)")
            #expect(apns["size"]?.number == 5211 && apns["limit"]?.number == 5120 && apns["payload"] == nil)
            #expect(apns["headers"]?["apns-topic"]?.text == "com.example.app.voip")
            #expect(apns["errors"]?.elements.first?["member"]?.text == "native.apns.payload")
            #expect(try await api.call(.post, "/api/sends", as: .user("desk"), body: body).status == 400)
            let reserved = Self.send(#""body":"b","data":{"aps":"x"}"#)
            let wrong = try await api.call(.post, "/api/sends/preview", as: .user("desk"), body: reserved)
            let fault = try #require(wrong.json["services"]?.elements.first?["errors"]?.elements.first)
            #expect(fault["member"]?.text == "data.aps")
        }
    }

    /// A send to handles goes to their services alone.
    @Test func aPreviewOfASendToHandlesShowsTheirServices() async throws {
        try await Harness.run(Self.options) { api async throws in
            let handles =
                #"{"to":{"handles":[{"service":"wns","handle":"https://a.notify.windows.com/x"}]},"body":"b"\#("")"#
            let answer = try await api.call(.post, "/api/sends/preview", as: .user("desk"), body: handles + "}")
            let services = try #require(answer.json["services"]?.elements, "\(answer.text)")
            #expect(services.compactMap { $0["service"]?.text } == ["wns"])
            #expect(services.first?["errors"]?.elements.isEmpty == false)
            let none = try await api.call(
                .post,
                "/api/sends/preview",
                as: .user("desk"),
                body: handles + #","services":["apns"]}"#
            )
            #expect(none.json["services"]?.elements.isEmpty == true, "\(none.text)")
        }
    }

    @Test(
        arguments: [
            (#""body":"b","dry_run":true"#, "dry_run", "did you mean dryRun?"),
            (#""body":"b","platform":["apns"]"#, "platform", "did you mean services?"),
            (#""message":"b""#, "message", "did you mean body?"),
            (#""body":"b","colour":1"#, "colour", "known are actions, apns, at, "),
            (#""native":{"aps":{"badge":1}}"#, "native.aps", "put it under native.apns.payload"),
            (#""native":{"apns":{"aps":{"badge":1}}}"#, "native.apns.aps", "put it under native.apns.payload"),
            (#""native":{"fcm":{"notification":{}}}"#, "native.fcm.notification", "put it under native.fcm.message"),
        ]
    )
    func aMisspeltOrMisplacedMemberIsGuessed(members: String, member: String, words: String) async throws {
        try await Harness.run(Self.options) { api async throws in
            let answer = try await api.call(.post, "/api/sends", as: .user("desk"), body: Self.send(members))
            #expect(answer.status == 400 && answer.wrongMembers == [member], "\(answer.text)")
            let reason = answer.json["errors"]?.elements.first?["reason"]?.text ?? ""
            #expect(reason.hasPrefix("no such member; ") && reason.contains(words), "\(reason)")
        }
    }

    @Test func aMisspeltMemberOfAHandleIsGuessed() async throws {
        try await Harness.run { api async throws in
            let body = #"{"to":{"handles":[{"platform":"fcm","handle":"a"}]},"body":"b"}"#
            let answer = try await api.call(.post, "/api/sends", as: .user("desk"), body: body)
            #expect(answer.wrongMembers == ["to.handles[0].platform"])
            #expect(answer.text.contains("did you mean service?"))
        }
    }

    @Test func aPreviewOfALaterSendHasItsWholeTimeToLive() async throws {
        try await Harness.run(Self.options) { api async throws in
            let start = Timestamp(milliseconds: Timestamp.now.advanced(by: .seconds(7200)).seconds * 1000)
            let members = #""body":"b","ttl":60,"at":"\#(start.iso8601)","services":["apns","fcm","wns"]"#
            let answer = try await api.call(.post, "/api/sends/preview", as: .user("desk"), body: Self.send(members))
            let services = try #require(answer.json["services"]?.elements, "\(answer.text)")
            #expect(services[0]["headers"]?["apns-expiration"]?.text == "\(start.seconds + 60)")
            #expect(services[1]["payload"]?["android"]?["ttl"]?.text == "60s")
            #expect(services[2]["headers"]?["X-WNS-TTL"]?.text == "60")
        }
    }

    @Test func aDryRunSaysSoEverywhere() async throws {
        try await Harness.run { api async throws in
            let body = #"{"to":{"user":"bob"},"body":"b","dryRun":true}"#
            let answer = try await api.call(.post, "/api/sends", as: .user("desk"), body: body)
            #expect(answer.json["dryRun"] == .bool(true))
            let id = try #require(answer.json["id"]?.text)
            #expect(try await api.call(.get, "/api/jobs/\(id)", as: .user("desk")).json["dryRun"] == .bool(true))
            let list = try await api.call(.get, "/api/jobs", as: .user("desk"))
            #expect(list.json["items"]?.elements.first?["dryRun"] == .bool(true))
            let real = try await api.call(
                .post,
                "/api/sends",
                body: #"{"to":{"user":"bob"},"body":"b","dryRun":false}"#
            )
            #expect(real.status == 202 && real.json["dryRun"] == nil)
            let wrong = try await api.call(
                .post,
                "/api/sends",
                as: .user("desk"),
                body: #"{"to":{"user":"bob"},"body":"b","dryRun":1}"#
            )
            #expect(wrong.wrongMembers == ["dryRun"])
        }
    }

    @Test(arguments: [#""dryRun":true"#, #""dryRun":1"#, #""native":{"apns":{"payload":7}}"#])
    func aUserMayMakeNoDryRunAndNoNativePayload(member: String) async throws {
        try await Harness.run { api async throws in
            let body = #"{"to":{"user":"bob"},"body":"b",\#(member)}"#
            for path in ["/api/sends", "/api/sends/count", "/api/sends/preview"] {
                let answer = try await api.call(.post, path, body: body)
                #expect(answer.status == 403, "\(path)")
                #expect(answer.json["detail"]?.text?.contains("requires the role sender or operator") == true)
            }
            let lines = try await api.call(.post, "/api/sends/batch", body: body)
            #expect(lines.text.contains("requires the role sender or operator"), "\(lines.text)")
        }
    }

    @Test func aPreviewNeedsThePermissionsOfTheSend() async throws {
        try await Harness.run(Self.options) { api async throws in
            let body = #"{"to":{"tag":"t"},"body":"b"}"#
            #expect(try await api.call(.post, "/api/sends/preview", body: body).status == 403)
            #expect(try await api.call(.post, "/api/sends/preview", as: .nobody, body: body).status == 401)
            #expect(try await api.call(.post, "/api/sends/preview", as: .user("desk"), body: body).status == 200)
            let wrong = Self.send(#""native":{"apns":{"payload":7}}"#)
            #expect(
                try await api.call(.post, "/api/sends/preview", as: .user("desk"), body: wrong).wrongMembers == [
                    "native.apns.payload"
                ]
            )
        }
    }

    @Test func aCountCountsTheServicesThatHaveAForm() async throws {
        try await Harness.run(Self.options) { api async throws in
            _ = try await api.register(handle: String(repeating: "12", count: 32), tags: "[]")
            let to = #"{"to":{"user":"alice"},"native":"#
            let apns = try await api.call(
                .post,
                "/api/sends/count",
                as: .user("desk"),
                body: to + #"{"apns":{"payload":{"aps":{}}}}}"#
            )
            #expect(apns.json["total"]?.number == 1, "\(apns.text)")
            let wns = try await api.call(
                .post,
                "/api/sends/count",
                as: .user("desk"),
                body: to + #"{"wns":{"body":"<toast/>"}}}"#
            )
            #expect(wns.json["total"]?.number == 0, "\(wns.text)")
            // Also where it does not matter what it says.
            for rest in [#"[]}"#, #"[],"services":["fcm"]}"#, #"[],"body":"x"}"#] {
                let answer = try await api.call(.post, "/api/sends/count", as: .user("desk"), body: to + rest)
                #expect(answer.status == 400, "\(rest): \(answer.text)")
            }
        }
    }
}
