import Foundation
import MessageSamples
import Testing

@testable import Payloads
@testable import PushModel

/// What becomes of each member of a message at each service.
@Suite struct MessageMemberTests {
    static func value(_ member: MessageMember) throws -> JSONValue {
        try member.read(#require(MessageSample.named[member.name], "\(member.name) has no sample").value).value
    }

    static func message(_ names: [String], title: String? = "T", body: String? = "B") throws -> Content {
        let members = try names.map { name in
            JSONValue.Member(name, try Self.value(#require(MessageMember.named[name])))
        }
        return .message(.init(title: title, body: body, members: MessageMembers(members)))
    }

    /// What a service gets, as one text: the headers with a payload.
    static func sent(_ content: Content, to pns: PushService) throws -> String {
        let now = Timestamp(milliseconds: 1_000_000)
        let send = SendRequest(audience: .everyone, content: content)
        let options = PayloadFormatter.Options(send, for: pns, priority: .normal, begins: now, now: now)
        let payload = try PayloadFormatter.format(content, for: pns, options: options)
        let headers = PushHeaders(
            payload,
            priority: .normal,
            keepUntil: send.keepUntil(payload, begins: now),
            collapse: send.collapse(for: pns),
            now: now
        )
        let written = try #require(ServiceFormat.of(pns)).headers(headers, Self.app.credentials[pns])
        return written.map { "\($0.name): \($0.value)" }.joined(separator: "\n") + "\n"
            + String(decoding: payload.body, as: UTF8.self)
    }

    static let app: AppSpec = {
        var app = AppSpec()
        app.apns = AppSpec.APNs {
            $0.authentication = .token(.init(keyFile: "/k", keyID: "K", teamID: "T"))
            $0.topic = "com.example.app"
        }
        return app
    }()

    @Test(arguments: MessageMember.all.map(\.name)) func aMemberIsWhereTheTableSaysAndNowhereElse(_ name: String) throws
    {
        let member = try #require(MessageMember.named[name])
        let sample = try #require(MessageSample.named[name])
        let with = try Self.message(sample.needs + [name], title: nil)
        let without = try Self.message(sample.needs, title: nil)
        guard case .message(let message) = with, let members = message.members else { return #expect(Bool(false)) }
        try MessageRule.check(members)
        let taking = ServiceFormat.all.map(\.service).filter { member.isTaken(by: $0, in: message) }
        #expect(Set(sample.arrives.keys) == Set(taking))
        for format in ServiceFormat.all {
            let pns = format.service
            let differs = try Self.sent(with, to: pns) != Self.sent(without, to: pns)
            #expect(differs == taking.contains(pns), "\(name) at \(pns)")
            let warnings = MessageMember.warnings(of: with, for: [pns]).map(\.member)
            #expect(warnings.contains(name) == !differs, "\(name) at \(pns)")
        }
    }

    /// Members of one service at once, and the whole of what it gets.
    @Test(arguments: [
        (
            PushService.apns,
            """
            apns-topic: com.example.app
            apns-push-type: alert
            apns-priority: 5
            apns-expiration: 7000
            apns-collapse-id: apnscollapse
            content-type: application/json
            {"aps":{"alert":{"title":"T","body":"B","subtitle":"subtitle","title-loc-key":"titleLocKey","title-loc-args":["a"],\
            "subtitle-loc-key":"subtitleLocKey","subtitle-loc-args":["b"],"loc-key":"bodyLocKey","loc-args":["c"]},"mutable-content":1,\
            "sound":{"critical":1,"name":"sound","volume":0.25},"interruption-level":"critical","badge":7,"category":"category",\
            "thread-id":"thread","relevance-score":0.5,"content-available":1,"target-content-id":"apnstargetContent",\
            "filter-criteria":"apnsfilterCriteria"},"link":"shop://sale","image":"https://a.test/i.png"}
            """
        ),
        (
            .fcm,
            """
            content-type: application/json
            {"notification":{"title":"T","body":"B","image":"https://a.test/i.png"},"data":{"link":"shop://sale"},"android":{\
            "collapse_key":"fcmcollapse","ttl":"6100s","notification":{"notification_count":2,"sound":"sound","title_loc_key":"titleLocKey",\
            "title_loc_args":["a"],"body_loc_key":"bodyLocKey","body_loc_args":["c"],"channel_id":"fcmchannel","icon":"fcmicon",\
            "color":"#1a73e8","tag":"fcmtag","click_action":"fcmclickAction","visibility":"SECRET"},"direct_boot_ok":true,\
            "priority":"HIGH"},"fcm_options":{"analytics_label":"fcmanalyticsLabel"}}
            """
        ),
        (
            .wns,
            """
            Content-Type: text/xml
            X-WNS-Type: wns/toast
            X-WNS-PRIORITY: 2
            X-WNS-TTL: 6200
            X-WNS-Cache-Policy: cache
            <toast launch="{&quot;link&quot;:&quot;shop://sale&quot;}" scenario="urgent"><visual><binding template="ToastGeneric">\
            <text>T</text><text>subtitle</text><text>B</text><image src="https://a.test/i.png"/></binding></visual>\
            <audio src="ms-winsoundevent:Notification.Mail"/><actions>\
            <action content="Yes" arguments="yes" imageUri="https://a.test/y.png"/></actions></toast>
            """
        ),
        (
            .web,
            """
            Content-Type: application/octet-stream
            Content-Encoding: aes128gcm
            TTL: 6300
            Urgency: very-low
            Topic: JrzlmHlBVH4FKlmgwFa-Jcqnyqq40ld4
            {"title":"T","body":"B","data":{"link":"shop://sale"},"image":"https://a.test/i.png","app_badge":7,"actions":[{"action":"yes",\
            "title":"Yes","icon":"https://a.test/y.png"}],"icon":"https://a.test/icon.png","badge":"https://a.test/badge.png",\
            "tag":"webtag","renotify":true,"requireInteraction":true,"silent":true}
            """
        ),
    ])
    func theWholeMessage(_ pns: PushService, _ expected: String) throws {
        let names = MessageSample.together.map(\.name)
        let members = MessageMember.all.map(\.name).filter(names.contains)
        #expect(try Self.sent(Self.message(members), to: pns) == expected)
    }

    @Test(arguments: [
        ("wns.badge", "X-WNS-Type: wns/badge", #"<badge value="newMessage"/>"#),
        ("wns.raw", "X-WNS-Type: wns/raw", "wnsraw"),
        (
            "wns.tile", "X-WNS-Type: wns/tile",
            #"<tile><visual><binding template="TileMedium"><text>T</text><text>B</text></binding>"#
        ),
    ])
    func whatWindowsShowsInPlaceOfAToast(_ name: String, _ header: String, _ body: String) throws {
        let sent = try Self.sent(Self.message([name]), to: .wns)
        #expect(sent.contains(header) && sent.contains("\n\(body)"), "\(sent)")
    }

    @Test func whatIsShownNeedsAText() throws {
        let silent = try Self.message(["sound", "badge", "fcm.channel", "fcm.directBoot"], title: nil, body: nil)
        #expect(MessageMember.warnings(of: silent, for: [.apns, .fcm]).map(\.member) == ["sound", "fcm.channel"])
        #expect(try Self.sent(silent, to: .fcm).hasSuffix(#"{"data":{},"android":{"direct_boot_ok":true}}"#))
        let apns = try Self.sent(silent, to: .apns)
        // A badge is shown: Apple refuses it as `background`.
        #expect(apns.contains("apns-push-type: alert") && apns.hasSuffix(#"{"aps":{"content-available":1,"badge":7}}"#))
    }

    @Test func textsOfTheAppAreNoTextForBrowsers() throws {
        let content = try Self.message(["titleLocKey"], title: nil, body: nil)
        #expect(
            try Self.sent(content, to: .apns).hasSuffix(
                #"{"aps":{"alert":{"title-loc-key":"titleLocKey"},"sound":"default"}}"#
            )
        )
        #expect(
            try Self.sent(content, to: .fcm).hasSuffix(#"{"android":{"notification":{"title_loc_key":"titleLocKey"}}}"#)
        )
        let fault = #expect(throws: InvalidValue.self) { try Self.sent(content, to: .web) }
        #expect(fault?.member == "body")
    }

    @Test func onePlaceHasOneValue() throws {
        let members = MessageMembers([
            .init("link", .string("https://a.test/")), .init("image", .string("https://a.test/i.png")),
        ])
        for (name, services) in [("link", ServiceFormat.all.map(\.service)), ("image", [.apns])] {
            let content = Content.message(.init(body: "B", data: [name: "x"], members: members))
            for pns in services {
                let fault = #expect(throws: InvalidValue.self) { try PayloadFormatter.format(content, for: pns) }
                #expect(fault?.member == "data.\(name)")
            }
        }
    }

    @Test func aSilentNotificationHasTheOnlyPriorityThatAppleTakes() throws {
        func send(_ priority: Int) throws -> NativePayload {
            let members = MessageMembers([.init("apns.priority", .integer(priority))])
            return try PayloadFormatter.format(.message(.init(data: ["k": "v"], members: members)), for: .apns)
        }
        #expect(try send(5).kind == .background)
        let fault = #expect(throws: InvalidValue.self) { try send(10) }
        #expect(fault?.member == "apns.priority")
    }

    @Test func nativeFormsTakeNoMembers() throws {
        let message = Content.Message(
            body: "B",
            members: MessageMembers([.init("apns.ttl", .integer(5)), .init("category", .string("c"))])
        )
        let form = NativePayload(kind: .alert, body: Array(#"{"aps":{}}"#.utf8))
        let content = Content.native(.init(message: message, forms: [form]))
        #expect(SendRequest(audience: .everyone, content: content).timeToLive(for: .apns) == nil)
        #expect(MessageMember.warnings(of: content, for: [.apns, .fcm]).map(\.member) == ["apns.ttl", "category"])
    }

    @Test func whereEveryServiceHasAFormTheMessageIsDropped() {
        let message = Content.Message(title: "T", members: MessageMembers([.init("thread", .string("x"))]))
        let form = NativePayload(kind: .alert, body: Array(#"{"aps":{}}"#.utf8))
        let content = Content.native(.init(message: message, forms: [form]))
        let warnings = MessageMember.warnings(of: content, for: [.apns])
        #expect(warnings.map(\.member) == ["title", "thread"])
        #expect(warnings.allSatisfy { $0.reason.contains("native") })
        #expect(MessageMember.warnings(of: .native(.init(message: nil, forms: [form])), for: [.apns]).isEmpty)
    }

    @Test func aServiceThatIsRetiredTakesNothing() {
        let content = Content.message(.init(body: "B", members: MessageMembers([.init("thread", .string("x"))])))
        let warnings = MessageMember.warnings(of: content, for: [.mpns])
        #expect(warnings.map(\.member) == ["body", "thread"])
        #expect(warnings.allSatisfy { $0.reason.hasSuffix("no service that takes messages") })
    }

    @Test(arguments: ["wns.tile", "wns.badge", "wns.raw"])
    func whatIsNotInPlaceOfAToastIsAWarning(_ instead: String) throws {
        let alone = try Self.sent(Self.message([instead]), to: .wns)
        let texts = instead == "wns.tile" ? [] : ["title", "body"]
        for member in MessageMember.all
        where member.places[.wns] != nil && !["wns.tile", "wns.badge", "wns.raw"].contains(member.name) {
            let with = try Self.message([instead, member.name])
            let isTaken = try Self.sent(with, to: .wns) != alone
            let warnings = MessageMember.warnings(of: with, for: [.wns]).map(\.member)
            #expect(warnings == texts + (isTaken ? [] : [member.name]), "\(member.name)")
        }
    }

    @Test func aJobKeepsThem() throws {
        let content = try Self.message(MessageMember.all.map(\.name))
        let data = try JSONEncoder().encode(content)
        #expect(try JSONDecoder().decode(Content.self, from: data) == content)
    }

    /// The check of a value, and the schema that the API's description has for it.
    @Test(arguments: [
        ("image", ["https://a.test/", "http://x"], ["https://", "ftp://a", "https://a b", "https://ä.test/", ""]),
        (
            "link", ["shop:x", "https://a/?b=\"'"],
            ["javascript:alert(1)", "data:x", "Shop:x", "shop:", ":x", "shop:a b", "x"]
        ),
        ("fcm.color", ["#00ffAA"], ["00ffaa", "#00ffa", "#00ffaag", "#00ffaaa", "#00ffa\u{301}"]),
        ("fcm.analyticsLabel", ["a-b_c.d~e%"], ["", "a b", "a/b", String(repeating: "a", count: 51)]),
        ("wns.tag", ["a1"], ["", "a-1", "a1234567890123456"]),
        (
            "wns.sound", ["ms-winsoundevent:Notification.Looping.Alarm", "ms-appx:///Assets/a.wav"],
            ["ms-appx:", "ding.caf", "ms-appx:///a b", "x ms-appx:///a", "https://a.test/a.wav", ""]
        ),
        ("apns.collapse", ["a b", "x"], [" a", "a ", "", "a\nb", "é"]),
    ])
    func valuesAreWhatTheirSchemaSays(_ name: String, _ right: [String], _ wrong: [String]) throws {
        let member = try #require(MessageMember.named[name])
        let schema = member.value.schema
        let pattern = try #require(schema.firstMatch(of: /pattern: "([^"]*)"/)?.1)
        let expression = try NSRegularExpression(pattern: String(pattern))
        for (texts, fits) in [(right, true), (wrong, false)] {
            for text in texts {
                #expect((member.value.read(.string(text)) != nil) == fits, "\(text)")
                let found = expression.firstMatch(in: text, range: NSRange(text.startIndex..., in: text)) != nil
                let isShort = (1...2048).contains(text.utf8.count)
                #expect((found && isShort) == fits, "\(pattern): \(text)")
            }
        }
    }

    @Test(arguments: [
        ("badge", JSONValue.number("1.5")), ("badge", .integer(-1)), ("badge", .string("1")),
        ("badge", .integer(100_000)),
        ("relevance", .number("1.01")), ("relevance", .number("-0.1")), ("contentAvailable", .integer(1)),
        ("sound", .string("")),
        ("actions", .array([])), ("actions", .array([.members(["id": .string("a")])])),
        ("titleLocArgs", .array([.integer(1)])),
        ("actions", .array([.members(["id": .string("a"), "title": .string("b"), "url": .string("c")])])),
        ("interruptionLevel", .string("critical")), ("apns.priority", .integer(2)), ("wns.badge", .string("\"/><x")),
        ("wns.badge", .integer(100)), ("fcm.visibility", .string("PUBLIC")), ("web.ttl", .integer(2_419_201)),
    ])
    func otherValuesAreRefused(_ name: String, _ value: JSONValue) throws {
        let member = try #require(MessageMember.named[name])
        let fault = #expect(throws: InvalidValue.self) { try member.read(value) }
        #expect(fault?.member == name)
    }

    @Test(arguments: [
        (["wns.badge", "wns.raw"], "wns.raw"), (["web.renotify"], "web.renotify"), (["bodyLocArgs"], "bodyLocArgs"),
        (["apns.volume"], "apns.volume"), (["apns.critical", "interruptionLevel"], "interruptionLevel"),
        (["apns.critical", "apns.silent"], "apns.silent"),
        (["wns.sound", "wns.silent"], "wns.silent"), (["wns.tile", "wns.badge"], "wns.badge"),
        (["wns.tile", "wns.raw"], "wns.raw"),
    ])
    func someCannotStandTogether(_ names: [String], _ member: String) throws {
        guard case .message(let message) = try Self.message(names) else { return }
        let members = try #require(message.members)
        let fault = #expect(throws: InvalidValue.self) { try MessageRule.check(members) }
        #expect(fault?.member == member)
    }

    /// No text of a member breaks out of its place.
    @Test(arguments: HostileTextTests.hostile) func hostileTextStaysText(_ text: String) throws {
        let texts = MessageMember.all.filter { $0.value.read(.string(text)) != nil }.map {
            JSONValue.Member($0.name, .string(text))
        }
        let action = JSONValue.Member("actions", .array([.members(["id": .string(text), "title": .string(text)])]))
        let members =
            texts.filter { $0.name != "wns.raw" } + (text.isEmpty || text.unicodeScalars.count > 200 ? [] : [action])
        let content = Content.message(.init(title: text, body: text, members: MessageMembers(members)))
        for format in ServiceFormat.all {
            let payload = try PayloadFormatter.measure(content, for: format.service).payload
            let isSafe = payload.headers.allSatisfy(\.isSafe)
            #expect(isSafe)
            if format.isJSON {
                _ = try JSONReader.read(payload.body)
            } else {
                #expect(try XMLReader.read(payload.body).name == "toast")
            }
        }
    }
}
