import PushModel
import Store
import StoreKit
import Testing

/// The short way to store a send says the same as the long one.
@Suite struct StoredSendTests {
    static let sends: [SendRequest] = {
        let texts: [String?] = [nil, "", "b", "a \"quoted\" \\ text/", "line\nbreak\u{1F}\u{7F}", "é 😀 \u{2028}"]
        guard let user = try? UserName("ann", .folded) else { return [] }
        let tag = TagExpression.tag(Tag(user: user))
        return texts.flatMap { text in
            [
                SendRequest(audience: tag, content: .message(.init(title: text, body: "b"))),
                SendRequest(
                    audience: tag,
                    platforms: [.fcm, .apns],
                    content: .message(.init(body: text, data: ["k": text ?? "", "\"": "v", "a/b": "\t"])),
                    timeToLive: .seconds(text?.count ?? 0),
                    collapse: text
                ),
                SendRequest(
                    to: .list(RecipientCount(kind: .handles, given: 20_000, count: 7)),
                    platforms: [.wns],
                    content: .message(.init(title: text, data: ["k": "v"])),
                    collapse: text
                ),
                SendRequest(
                    to: .list(RecipientCount(kind: .registrations, given: 1, count: 0)),
                    content: .message(.init(body: text))
                ),
            ]
        }
    }()

    @Test(arguments: sends) func bothWritersAndReadersAgree(send: SendRequest) throws {
        let short = try #require(StoredSend.text(.send(send)))
        #expect(StoredSend.read(Array(short.utf8)) == send)
        #expect(try StoredJSON.value(Job.Work.self, from: short) == .send(send))
        let long = try StoredJSON.text(Job.Work.send(send))
        #expect(try StoredJSON.work(from: Array(long.utf8)) == .send(send))
    }

    @Test func unsupportedSendsAreLeftToTheCoder() throws {
        let both = TagExpression.any([.tag(try Tag("a", .folded)), .tag(try Tag("b", .folded))])
        let any = SendRequest(audience: both, content: .message(.init(body: "b")))
        let classic = SendRequest(
            audience: .tag(try Tag("a", .folded)),
            content: .classic(sender: "ann", text: "b")
        )
        let form = NativePayload(
            kind: .tile,
            headers: [.init("X-WNS-Tag", "t")],
            body: Array("<tile>\r\né\"</tile>".utf8)
        )
        let native = SendRequest(
            audience: .tag(try Tag("a", .folded)),
            content: .native(
                .init(message: .init(body: "b"), forms: [form, NativePayload(kind: .message, body: [0x7B])])
            )
        )
        let dry = SendRequest(
            audience: .tag(try Tag("a", .folded)),
            content: .message(.init(body: "b")),
            isDryRun: true
        )
        let all = SendRequest(to: .all, content: .message(.init(body: "b")))
        let written = SendRequest(
            to: .tags(.tag(try Tag("a", .folded))),
            content: .message(.init(body: "b")),
            original: .init(platform: "gcm", body: "{ }")
        )
        for send in [any, classic, native, dry, all, written] {
            #expect(StoredSend.text(.send(send)) == nil)
            let text = try StoredJSON.text(work: .send(send))
            #expect(try StoredJSON.work(from: Array(text.utf8)) == .send(send))
        }
    }

    /// In the short form and in the long one: PostgreSQL reads no U+0000 in JSON.
    @Test func aNullCharacterHasASignInItsPlace() throws {
        func send(_ text: String, to audience: SendAudience) -> SendRequest {
            SendRequest(to: audience, content: .message(.init(title: text, body: "b", data: ["k": text])))
        }
        for audience in [SendAudience.tags(.tag(Tag(user: try UserName("ann", .folded)))), .all] {
            let text = try StoredJSON.text(work: .send(send("\u{0}a\\u0000\\\u{0}", to: audience)))
            let kept = send("\u{FFFD}a\\u0000\\\u{FFFD}", to: audience)
            #expect(try StoredJSON.work(from: Array(text.utf8)) == .send(kept))
        }
    }

    /// A member that is added must be added there too, or be left to the coder.
    @Test func everyMemberOfASendIsCovered() throws {
        let message = Content.Message(body: "b")
        let send = SendRequest(audience: .tag(try Tag("a", .folded)), content: .message(message))
        #expect(
            Mirror(reflecting: send).children.map(\.label) == [
                "audience", "truncatedTags", "platforms", "content", "timeToLive", "collapse", "isDryRun",
                "original",
            ]
        )
        #expect(Mirror(reflecting: message).children.map(\.label) == ["title", "body", "data", "members"])
    }
}
