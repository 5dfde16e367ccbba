import HTTPTypes
import PushModel
import Settings
import Store
import Testing
import Undisturbed

@testable import HTTPAPI
@testable import WebServing

@Suite(.undisturbed) struct ClassicNotificationTests {
    private static func job(_ answer: Harness.Answer, _ api: Harness) async throws -> SendRequest {
        let id = try #require(answer.headers[.job].flatMap(JobID.init))
        let found = try await api.store.job(id, app: .default)
        let job = try #require(found)
        guard case .send(let send) = job.work else { throw InvalidValue("not a send") }
        return send
    }

    @Test(arguments: [("apns", PushService.apns), ("GCM", .fcm), ("fcm", .fcm), ("Wns", .wns), ("Web", .web)])
    func aTextIsSentToAUser(platform: String, pns: PushService) async throws {
        try await Harness.run { api async throws in
            let answer = try await api.call(
                .post,
                "/api/notifications?pns=\(platform)&to_tag=bob",
                body: "\"hello\"",
                headers: ["Content-Type": "application/json;charset=utf-8"]
            )
            #expect(answer.status == 200)
            #expect(answer.bytes.isEmpty)
            let send = try await Self.job(answer, api)
            #expect(send.audience.alternatives?.map(\.name) == ["username:bob", "from:alice"])
            #expect(send.platforms == [pns])
            #expect(send.content == .classic(sender: "alice", text: "hello"))
        }
    }

    struct Body: Sendable {
        let bytes: [UInt8]
        let text: String?

        init(_ body: String, _ text: String?) {
            self.bytes = Array(body.utf8)
            self.text = text
        }
    }

    @Test(arguments: [
        Body(#""hello""#, "hello"),
        Body(#""a\nb""#, "a\nb"),
        Body(" \r\n\"x\" \n", "x"),
        Body(#""say "hi" now""#, #"say "hi" now"#),
        Body(#""back\slash""#, #"back\slash"#),
        Body("\"two\nlines\"", "two\nlines"),
        Body(#""","x":"""#, #"","x":""#),
        Body(#""\ud800""#, "\u{FFFD}"),
        Body(#""\ud83d\ude00""#, "\u{1F600}"),
        Body(#""""#, ""),
        Body("", nil),
        Body("{}", nil),
        Body(#"{"more":1}"#, nil),
        Body(#"{"message":null}"#, nil),
        Body(#"{"MESSAGE":"x","richType":"img"}"#, "x"),
    ])
    func theBodyFormsOfExistingAppsAreRead(body: Body) throws {
        #expect(try ClassicBody(body.bytes).message == body.text)
    }

    @Test(arguments: ["\"", "hello", "42", "null", "[]", "true", " ", #"{"message":1}"#, #"{"message":"x"#])
    func aBodyWithoutATextIsRefused(body: String) {
        #expect(throws: Problem.self) { try ClassicBody(Array(body.utf8)) }
    }

    @Test func invalidUTF8IsRefused() {
        #expect(throws: Problem.self) { try ClassicBody([0x22, 0xFF, 0x22]) }
    }

    @Test(arguments: [("", ""), ("{}", ""), (#"{"message":"m","richType":"url"}"#, "m")])
    func aTextMayBeInAnObjectOrAbsent(body: String, text: String) async throws {
        try await Harness.run { api async throws in
            let answer = try await api.call(.post, "/api/notifications?pns=apns&to_tag=bob", body: body)
            #expect(answer.status == 200)
            #expect(try await Self.job(answer, api).content == .classic(sender: "alice", text: text))
        }
    }

    @Test(arguments: [(#""hi""#, "hi"), (#""say "hi"""#, #"say "hi""#), (#"{"message":"a\u0000b"}"#, "a\u{FFFD}b")])
    func aRichNotificationMayBeATextAlone(body: String, message: String) async throws {
        try await Harness.run { api async throws in
            let answer = try await api.call(.post, "/api/notifications", body: body)
            #expect(answer.status == 200)
            guard case .rich(let rich) = try await Self.job(answer, api).content else {
                Issue.record("not rich")
                return
            }
            #expect(rich.message == message)
            #expect(rich.richType == "img")
            #expect(try await api.store.richNotification(rich.id, app: .default)?.message == message)
        }
    }

    @Test(arguments: [
        ("pns=mpns&to_tag=bob", "\"x\"", "pns"),
        ("pns=adm&to_tag=bob", "\"x\"", "pns"),
        ("pns=&to_tag=bob", "\"x\"", "pns"),
        ("to_tag=bob", "\"x\"", "pns"),
        ("pns=apns", "\"x\"", "to_tag"),
        ("pns=apns&to_tag=", "\"x\"", "to_tag"),
        ("pns=apns&to_tag=a%0Ab", "\"x\"", "to_tag"),
        ("pns=apns&to_tag=..", "\"x\"", "to_tag"),
        ("pns=apns&to_tag=%E2%80%AE", "\"x\"", "to_tag"),
        ("pns=apns&to_tag=%00", "\"x\"", "to_tag"),
        ("pns=apns&to_tag=bob", "7", ""),
    ])
    func theRefusalNamesTheWrongParameter(query: String, body: String, member: String) async throws {
        try await Harness.run { api async throws in
            let answer = try await api.call(.post, "/api/notifications?\(query)", body: body)
            #expect(answer.status == 400)
            #expect(answer.wrongMembers == [member])
        }
    }

    @Test func tooLongATextIsRefusedBeforeItIsAccepted() async throws {
        try await Harness.run { api async throws in
            let text = String(repeating: "x", count: 5000)
            let answer = try await api.call(.post, "/api/notifications?pns=apns&to_tag=bob", body: "\"\(text)\"")
            #expect(answer.status == 400)
            #expect(answer.text.contains("too large"))
            #expect(try await api.store.jobs(JobQuery(app: .default)).items.isEmpty)
        }
    }

    @Test func aSendIsAcceptedThoughTheHubDoesNotAnswer() async throws {
        var options = Harness.Options()
        options.hub = .isSilent
        options.configuration.settings.classicWait = .milliseconds(100)
        try await Harness.run(options) { api async throws in
            let path = "/api/notifications?pns=apns&to_tag=bob"
            let late = try await api.call(.post, path, body: "\"x\"")
            #expect(late.status == 200)
            #expect(late.bytes.isEmpty)
            let async = try await api.call(.post, path, body: "\"x\"", headers: ["Prefer": "respond-async, wait=0"])
            #expect(async.status == 202)
            #expect(async.bytes.isEmpty)
        }
    }

    @Test func anAbandonedSendIs500WithoutABody() async throws {
        var options = Harness.Options()
        options.hub = .abandons
        try await Harness.run(options) { api async throws in
            let answer = try await api.call(.post, "/api/notifications?pns=apns&to_tag=bob", body: "\"x\"")
            #expect(answer.status == 500)
            #expect(answer.bytes.isEmpty)
            let id = try #require(answer.headers[.job])
            #expect(try await api.call(.get, "/api/jobs/\(id)").json["reason"]?.text == "no credentials")
        }
    }

    @Test func aSendByAKeyHasTheKeysName() async throws {
        try await Harness.run { api async throws in
            let key = try await api.key(.sender, name: "shop")
            let answer = try await api.call(.post, "/api/notifications?pns=fcm&to_tag=bob", as: key, body: "\"x\"")
            #expect(answer.status == 200)
            #expect(try await Self.job(answer, api).content == .classic(sender: "shop", text: "x"))
        }
    }

    @Test func aRichPushWithoutABodyUsesTheAppsDefault() async throws {
        try await Harness.run { api async throws in
            let answer = try await api.call(.post, "/api/notifications")
            #expect(answer.status == 200)
            #expect(answer.bytes.isEmpty)
            let send = try await Self.job(answer, api)
            #expect(send.audience == .tags(.tag(Tag(user: try UserName("alice", .folded)))))
            // As the classic backend has it.
            #expect(send.platforms == [.apns])
            guard case .rich(let rich) = send.content else {
                Issue.record("not rich")
                return
            }
            #expect(rich.message == "Check this image out!")
            #expect(rich.richType == "img")
            #expect(!rich.isSecure)
            #expect(rich.id > 0)
            let fetched = try await api.call(.get, "/api/notifications/\(rich.id)")
            #expect(fetched.status == 200)
            #expect(fetched.headers[.contentType] == "image/png")
            #expect(fetched.bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]))
            #expect(fetched.bytes.suffix(8) == [0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82])
        }
    }

    @Test func uploadedContentIsReadableByItsOwnerOnly() async throws {
        try await Harness.run { api async throws in
            let upload = try await api.call(
                .post,
                "/api/contents",
                bytes: [0, 1, 2, 255],
                headers: ["Content-Type": "Text/Plain; charset=UTF-8; x=y"]
            )
            #expect(upload.status == 201)
            let content = try #require(upload.json["id"]?.text)
            #expect(upload.headers[.location] == "/api/contents/\(content)")
            let body = #"{"MESSAGE":"m","richtype":"url","content":"\#(content)","secure":true,"more":1}"#
            let sent = try await api.call(.post, "/api/notifications", body: body)
            #expect(sent.status == 200)
            guard case .rich(let rich) = try await Self.job(sent, api).content else {
                Issue.record("not rich")
                return
            }
            #expect(rich.isSecure && rich.message == "m" && rich.richType == "url")
            let path = "/api/notifications/\(rich.id)"
            #expect(try await api.call(.get, path, as: .user("bob")).status == 404)
            #expect(try await api.call(.get, path, as: .user("root")).status == 404)
            #expect(try await api.call(.head, path).status == 200)
            #expect(try await api.store.richNotification(rich.id, app: .default)?.read == nil)
            let fetched = try await api.call(.get, path)
            #expect(fetched.bytes == [0, 1, 2, 255])
            #expect(fetched.headers[.contentType] == "text/plain; charset=utf-8")
            #expect(fetched.headers[.resourcePolicy] == "same-origin")
            #expect(try await api.store.richNotification(rich.id, app: .default)?.read != nil)
            // Another's content is as good as none.
            let stolen = try await api.call(.post, "/api/notifications", as: .user("bob"), body: body)
            #expect(stolen.status == 404)
            #expect(stolen.wrongMembers == ["content"])
            #expect(try await api.call(.get, "/api/contents/\(content)", as: .user("bob")).status == 404)
            #expect(try await api.call(.get, "/api/contents/\(content)").bytes == [0, 1, 2, 255])
        }
    }

    @Test(arguments: [
        (#"{"message":1}"#, "message"), (#"{"secure":"yes"}"#, "secure"), (#"{"content":"\u0000"}"#, "content"),
        (#"{"richType":"\u0000"}"#, "richType"), ("7", ""), (#"{"platforms":"fcm"}"#, "platforms"),
        (#"{"platforms":[]}"#, "platforms"), (#"{"platforms":["apns","adm"]}"#, "platforms[1]"),
    ])
    func richBodiesAreChecked(body: String, member: String) async throws {
        try await Harness.run { api async throws in
            let answer = try await api.call(.post, "/api/notifications", body: body)
            #expect(answer.status == 400)
            #expect(answer.wrongMembers == [member])
        }
    }

    @Test(arguments: ["0", "-1", "99999999999", "x", "2147483647"])
    func anUnknownRichNotificationIs404(id: String) async throws {
        try await Harness.run { api async throws in
            #expect(try await api.call(.get, "/api/notifications/\(id)").status == 404)
        }
    }
}
