import Foundation
import PushModel
import Testing

/// Job rows and messages keep these forms: whoever changes one breaks what is stored.
@Suite struct CodingTests {
    private func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    private func expect<T: Codable & Equatable>(_ value: T, _ golden: String) throws {
        #expect(try self.json(value) == golden)
        #expect(try JSONDecoder().decode(T.self, from: Data(golden.utf8)) == value)
    }

    @Test func sendOfAMessage() throws {
        let request = SendRequest(
            audience: .any([.tag(try Tag("a", .folded)), .tag(try Tag("username:b", .folded))]),
            platforms: [.apns, .fcm],
            content: .message(.init(title: "T", body: "B", data: ["k": "v"])),
            timeToLive: .seconds(60),
            collapse: "c"
        )
        try self.expect(
            Job.Work.send(request),
            #"{"send":{"_0":{"audience":"a || username:b","collapse":"c","#
                + #""content":{"message":{"_0":{"body":"B","data":{"k":"v"},"title":"T"}}},"#
                + #""platforms":["apns","fcm"],"ttl":60}}}"#
        )
    }

    @Test func sendOfClassicText() throws {
        try self.expect(
            SendRequest(
                audience: .tag(try Tag("a", .folded)),
                content: .classic(sender: "bob", text: "\"<é\u{0}")
            ),
            #"{"audience":"a","content":{"classic":{"sender":"bob","text":"\"<é\u0000"}},"platforms":[]}"#
        )
    }

    @Test func sendOfARichPush() throws {
        try self.expect(
            SendRequest(
                audience: .tag(try Tag("a", .folded)),
                content: .rich(.init(id: 7, message: "m", richType: "img", isSecure: true)),
                timeToLive: .zero
            ),
            #"{"audience":"a","content":{"rich":{"_0":{"id":7,"isSecure":true,"message":"m","richType":"img"}}},"#
                + #""platforms":[],"ttl":0}"#
        )
    }

    /// Also what a later version has written, with keys that nobody knows yet.
    @Test func missingKeysOfADeclarationHaveDefaultsAndUnknownOnesAreIgnored() throws {
        let text = #"{"later":[1,{"a":true}],"rich":{"message":"m","content":"c","later":null}}"#
        let spec = try JSONDecoder().decode(AppSpec.self, from: Data(text.utf8))
        let wanted = AppSpec {
            $0.richDefault.message = "m"
            $0.richDefault.content = "c"
        }
        #expect(spec == wanted)
        #expect(try JSONDecoder().decode(AppSpec.self, from: JSONEncoder().encode(wanted)) == wanted)
    }

    @Test func platformsMayBeMissing() throws {
        let text = #"{"audience":"a","content":{"message":{"_0":{"data":{}}}}}"#
        let request = try JSONDecoder().decode(SendRequest.self, from: Data(text.utf8))
        #expect(request == SendRequest(audience: .tag(try Tag("a", .folded)), content: .message(.init())))
    }

    @Test func registerRequests() throws {
        let id = try #require(RegistrationID("abc"))
        try self.expect(
            Job.Work.register(.issue(candidate: id, handles: [Handle(stored: "AB"), Handle(stored: "ab")])),
            #"{"register":{"_0":{"issue":{"candidate":"abc","handles":["AB","ab"]}}}}"#
        )
        try self.expect(
            RegisterRequest.upsert(id, .init(pns: .fcm, handle: Handle(stored: "t"), tags: [try Tag("a", .folded)])),
            #"{"upsert":{"_0":"abc","_1":{"handle":"t","pns":"fcm","tags":["a"]}}}"#
        )
        try self.expect(RegisterRequest.delete(id), #"{"delete":{"_0":"abc"}}"#)
        let channel = try APNsChannelID("YQ==")
        try self.expect(
            RegisterRequest.channel(ChannelRequest(.create(.nothing), credential: try CredentialName("watch"))),
            #"{"channel":{"_0":{"action":{"create":{"_0":"none"}},"credential":"watch"}}}"#
        )
        try self.expect(
            ChannelRequest(.list(after: channel, limit: 5)),
            #"{"action":{"list":{"after":"YQ==","limit":5}}}"#
        )
        try self.expect(ChannelRequest(.list(after: nil, limit: 5)), #"{"action":{"list":{"limit":5}}}"#)
        try self.expect(ChannelRequest(.show(channel)), #"{"action":{"show":{"_0":"YQ=="}}}"#)
        try self.expect(ChannelRequest(.delete(channel)), #"{"action":{"delete":{"_0":"YQ=="}}}"#)
    }

    @Test func registerResults() throws {
        let id = try #require(RegistrationID("abc"))
        try self.expect(RegisterResult.issued(id), #"{"issued":{"_0":"abc"}}"#)
        try self.expect(RegisterResult.done, #"{"done":{}}"#)
        try self.expect(RegisterResult.superseded, #"{"superseded":{}}"#)
        try self.expect(RegisterResult.gone, #"{"gone":{}}"#)
        try self.expect(RegisterResult.notFound, #"{"notFound":{}}"#)
        try self.expect(RegisterResult.refused("why"), #"{"refused":{"_0":"why"}}"#)
        let channel = BroadcastChannel(id: try APNsChannelID("YQ=="), storage: .latest)
        try self.expect(
            RegisterResult.channels([channel], hasMore: true),
            #"{"channels":{"_0":[{"id":"YQ==","storage":"latest"}],"hasMore":true}}"#
        )
    }

    @Test func counts() throws {
        var counts = DeliveryCounts()
        counts.targets = 6
        counts.accepted = 3
        counts.failed = [.unregistered: 1, .retiredService: 2]
        #expect(counts.accounted == 6)
        try self.expect(
            counts,
            #"{"accepted":3,"cancelled":0,"expired":0,"failed":{"retired-service":2,"unregistered":1},"targets":6}"#
        )
        counts += counts
        #expect(counts.targets == 12)
        #expect(counts.failed == [.unregistered: 2, .retiredService: 4])
    }

    @Test func appSpec() throws {
        var spec = AppSpec()
        spec.wns = AppSpec.WNS {
            $0.clientID = "c"
            $0.clientSecretFile = "/s"
            $0.tokenURL = "https://t"
        }
        spec.wns?.secretEnds = Timestamp(rfc3339: "2027-01-31T00:00:00Z")
        spec.registrationLifetimeDays = 90
        spec.registrationsPerUser = 20
        spec.tagsPerRegistration = 300
        #expect(try JSONDecoder().decode(AppSpec.self, from: JSONEncoder().encode(spec)) == spec)
    }

    @Test(arguments: [
        #""a b""#, #"{"any":["a","b c"]}"#, "{}", "[]", "null", "1", #"{"any":"a"}"#, #"{"any":null}"#,
        #"{"all":["a"]}"#, #"{"any":[]}"#, #""""#, #""a &&""#,
    ])
    func noTagExpressions(text: String) {
        #expect(throws: (any Error).self) {
            try JSONDecoder().decode([TagExpression].self, from: Data("[\(text)]".utf8))
        }
    }

    @Test func tagExpressions() throws {
        try self.expect(TagExpression(parsing: "a&&!(b||c)", .folded), #""a && !(b || c)""#)
        try self.expect(TagExpression.any([.tag(try Tag("a", .folded))]), #""a""#)
    }

    /// As they were stored before expressions had a text.
    @Test(arguments: [
        (#"{"any":["a","username:b"]}"#, "a || username:b"), (#"{"any":["a"]}"#, "a"),
        (#"{"any":["a",{"any":["b","a"]}]}"#, "a || b || a"),
    ])
    func olderTagExpressions(json: String, text: String) throws {
        let read = try JSONDecoder().decode(TagExpression.self, from: Data(json.utf8))
        #expect(read == (try TagExpression(parsing: text, .folded)))
    }
}
