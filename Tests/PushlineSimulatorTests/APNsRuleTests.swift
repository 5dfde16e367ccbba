import Crypto
import Foundation
import Testing
import Undisturbed

@testable import PushlineSimulator

@Suite("APNs' rules", .undisturbed)
struct APNsRuleTests {
    /// One rule broken, and what APNs says to it.
    struct Case: Sendable, CustomTestStringConvertible {
        var reason: String
        var status: Int
        var headers: [String: String?] = [:]
        var extra: [(String, String)] = []
        var token = Client.deviceToken
        var body = #"{"aps":{"alert":"hello"}}"#
        var testDescription: String { "\(self.reason) \(self.headers) \(self.body.prefix(20)) \(self.token.prefix(5))" }
    }

    static let bundle = "com.example.pushline"
    static let refused: [Case] = [
        Case(reason: "BadMessageId", status: 400, headers: ["apns-id": "42"]),
        Case(reason: "BadMessageId", status: 400, headers: ["apns-id": "0F8FAD5B-D9CB-469F-A165-70867728950E"]),
        Case(reason: "BadCollapseId", status: 400, headers: ["apns-collapse-id": String(repeating: "x", count: 65)]),
        Case(reason: "BadExpirationDate", status: 400, headers: ["apns-expiration": "tomorrow"]),
        Case(reason: "BadExpirationDate", status: 400, headers: ["apns-expiration": "1790000000000"]),
        Case(reason: "BadPriority", status: 400, headers: ["apns-priority": "7"]),
        Case(reason: "BadPriority", status: 400, headers: ["apns-push-type": "background", "apns-priority": "10"]),
        Case(reason: "BadPriority", status: 400, headers: ["apns-push-type": "background"]),
        Case(
            reason: "BadPriority",
            status: 400,
            headers: [
                "apns-push-type": "liveactivity", "apns-topic": Self.bundle + ".push-type.liveactivity",
                "apns-priority": "1",
            ]
        ),
        Case(reason: "BadTopic", status: 400, headers: ["apns-push-type": "pushtotalk"]),
        Case(
            reason: "PayloadEmpty",
            status: 400,
            headers: ["apns-push-type": "voip", "apns-topic": Self.bundle + ".voip"],
            body: "{}"
        ),
        Case(reason: "InvalidPushType", status: 400, headers: ["apns-push-type": "alarm"]),
        Case(reason: "InvalidPushType", status: 400, headers: ["apns-push-type": nil]),
        Case(reason: "MissingTopic", status: 400, headers: ["apns-topic": nil]),
        Case(reason: "BadTopic", status: 400, headers: ["apns-topic": "com example"]),
        Case(reason: "BadTopic", status: 400, headers: ["apns-topic": Self.bundle + ".voip"]),
        Case(reason: "BadTopic", status: 400, headers: ["apns-push-type": "voip"]),
        Case(reason: "TopicDisallowed", status: 400, headers: ["apns-topic": "com.example.other"]),
        Case(reason: "DuplicateHeaders", status: 400, extra: [("apns-topic", Self.bundle)]),
        Case(reason: "MissingDeviceToken", status: 400, token: ""),
        Case(reason: "BadDeviceToken", status: 400, token: String(repeating: "ab", count: 31)),
        Case(reason: "BadDeviceToken", status: 400, token: String(repeating: "ab", count: 32) + "c"),
        Case(reason: "BadDeviceToken", status: 400, token: String(repeating: "zz", count: 32)),
        Case(reason: "BadPath", status: 404, token: Client.deviceToken + "/more"),
        Case(reason: "MissingProviderToken", status: 403, headers: ["authorization": nil]),
        Case(reason: "InvalidProviderToken", status: 403, headers: ["authorization": "bearer a.b.c"]),
        Case(reason: "PayloadEmpty", status: 400, body: ""),
        Case(reason: "PayloadEmpty", status: 400, body: "{}"),
        Case(reason: "PayloadEmpty", status: 400, body: #"{"aps":"text"}"#),
        Case(reason: "PayloadEmpty", status: 400, body: #"{"aps":{"alert":"broken}}"#),
        Case(reason: "PayloadTooLarge", status: 413, body: Self.body(of: 4097)),
    ]
    static let accepted: [Case] = [
        Case(reason: "", status: 200, body: Self.body(of: 4096)),
        Case(
            reason: "",
            status: 200,
            headers: ["apns-push-type": "voip", "apns-topic": Self.bundle + ".voip"],
            token: Self.token("01"),
            body: Self.body(of: 5120)
        ),
        Case(reason: "", status: 200, headers: ["apns-push-type": "background", "apns-priority": "5"]),
        Case(reason: "", status: 200, headers: ["apns-priority": "1", "apns-expiration": "0"]),
        Case(
            reason: "",
            status: 200,
            headers: ["apns-push-type": "fileprovider", "apns-topic": Self.bundle + ".pushkit.fileprovider"],
            token: Self.token("02"),
            body: #"{"container-identifier":"x"}"#
        ),
        Case(reason: "", status: 200, headers: ["apns-collapse-id": String(repeating: "x", count: 64)]),
        Case(reason: "", status: 200, token: String(repeating: "AB", count: 80)),
        Case(
            reason: "",
            status: 200,
            headers: Self.liveActivity,
            token: Self.token("03"),
            body: #"{"aps":{"timestamp":1790000000,"event":"update","content-state":{"gate":7}}}"#
        ),
        Case(
            reason: "",
            status: 200,
            headers: Self.liveActivity,
            token: Self.token("03"),
            body: #"{"aps":{"timestamp":1790000000,"event":"end","dismissal-date":0}}"#
        ),
        Case(
            reason: "",
            status: 200,
            headers: Self.liveActivity,
            token: Self.token("03"),
            body: Self.start(
                #""alert":{},"attributes-type":"A","attributes":{},"relevance-score":75,"input-push-token":1"#
            )
        ),
        Case(
            reason: "",
            status: 200,
            headers: Self.liveActivity,
            token: Self.token("03"),
            body: Self.start(#""alert":{},"attributes-type":"A","attributes":{},"input-push-channel":"c""#)
        ),
    ]

    /// A token of an own for each topic, as apps have.
    private static func token(_ digits: String) -> String { String(repeating: digits, count: 80) }

    private static let liveActivity: [String: String?] = [
        "apns-push-type": "liveactivity", "apns-topic": Self.bundle + ".push-type.liveactivity",
    ]

    private static func start(_ members: String) -> String {
        #"{"aps":{"timestamp":1790000000,"event":"start","content-state":{},\#(members)}}"#
    }

    /// A good push of an alert does not vouch for the same bytes as a Live Activity's.
    @Test(
        arguments: [
            #"{"aps":{"alert":"a"}}"#, #"{"aps":{"timestamp":1790000000,"event":"update"}}"#,
            #"{"aps":{"timestamp":1790000000000,"event":"end"}}"#, #"{"aps":{"event":"end"}}"#,
            #"{"aps":{"timestamp":1790000000,"event":"begin","content-state":{}}}"#,
            #"{"aps":{"timestamp":1790000000,"event":"start","content-state":{},"attributes-type":"A","attributes":{}}}"#,
            #"{"aps":{"timestamp":1790000000,"event":"update","content-state":{},"attributes":{}}}"#,
            #"{"aps":{"timestamp":1790000000,"event":"end","input-push-token":1}}"#,
            #"{"aps":{"timestamp":1790000000,"event":"update","content-state":{},"dismissal-date":1790000000}}"#,
            #"{"aps":{"timestamp":1790000000,"event":"update","content-state":{},"relevance-score":"high"}}"#,
            Self.start(
                #""alert":{},"attributes-type":"A","attributes":{},"input-push-token":1,"input-push-channel":"c""#
            ),
        ]
    )
    func whatIsNoLiveActivityIsRefused(body: String) async throws {
        try await withClient { client in
            let authorization = try await client.providerToken()
            for item in [
                Case(reason: "", status: 200, body: body),
                Case(reason: "InvalidPushType", status: 400, headers: Self.liveActivity, body: body),
            ] {
                try await Self.check(item, client, authorization)
            }
        }
    }

    static func body(of size: Int) -> String {
        let frame = #"{"aps":{"alert":""}}"#
        return #"{"aps":{"alert":""# + String(repeating: "x", count: size - frame.utf8.count) + #""}}"#
    }

    private static func check(_ item: Case, _ client: Client, _ authorization: String) async throws {
        let reply = try await client.push(
            token: item.token,
            headers: item.headers,
            extra: item.extra,
            authorization: authorization,
            body: item.body
        )
        #expect(reply.status == item.status, "\(item)")
        #expect(reply.reason ?? "" == item.reason, "\(item)")
        #expect(reply.headers["apns-id"] != nil, "\(item)")
    }

    @Test func everyAPNsRuleIsEnforced() async throws {
        try await withClient { client in
            let authorization = try await client.providerToken()
            for item in Self.refused + Self.accepted {
                try await Self.check(item, client, authorization)
            }
            let counts = client.simulator.counts.apns
            #expect(counts.requests == Self.refused.count + Self.accepted.count)
            #expect(counts.accepted == Self.accepted.count)
        }
    }

    /// A phone's usual token is of its app, an activity's is of that app's activities, and neither takes what the other takes.
    @Test func aTokenBelongsToTheTopicThatItWasFirstUsedWith() async throws {
        let other = "com.example.other"
        try await withClient(SimulatorConfiguration(bundleIDs: [Self.bundle, other])) { client in
            let authorization = try await client.providerToken()
            let (phone, activity) = (Self.token("aa"), Self.token("bb"))
            let update = #"{"aps":{"timestamp":1790000000,"event":"update","content-state":{}}}"#
            let ofOther = Self.liveActivity.merging(["apns-topic": other + ".push-type.liveactivity"]) { $1 }
            let cases: [Case] = [
                Case(reason: "", status: 200, token: phone),
                Case(reason: "", status: 200, headers: Self.liveActivity, token: activity, body: update),
                Case(
                    reason: "DeviceTokenNotForTopic",
                    status: 400,
                    headers: Self.liveActivity,
                    token: phone,
                    body: update
                ),
                Case(reason: "DeviceTokenNotForTopic", status: 400, token: activity),
                Case(reason: "DeviceTokenNotForTopic", status: 400, headers: ofOther, token: activity, body: update),
                Case(reason: "DeviceTokenNotForTopic", status: 400, headers: ["apns-topic": other], token: phone),
                Case(reason: "", status: 200, token: phone.uppercased()),
                Case(reason: "", status: 200, headers: Self.liveActivity, token: activity, body: update),
            ]
            for item in cases { try await Self.check(item, client, authorization) }
            client.simulator.reset()
            try await Self.check(Case(reason: "", status: 200, token: activity), client, authorization)
        }
    }

    @Test func onlyPostIsAllowed() async throws {
        try await withClient { client in
            let url = try client.simulator.urls.apns + Client.rawPath
            let reply = try await client.send(
                "GET",
                url,
                headers: try client.rawHeaders(try await client.providerToken())
            )
            #expect(reply.status == 405)
            #expect(reply.reason == "MethodNotAllowed")
        }
    }

    @Test func providerTokensAreVerified() async throws {
        try await withClient { client in
            let good = try await client.providerToken()
            let parts = good.split(separator: ".")
            let der = try P256.Signing.PrivateKey(pemRepresentation: client.simulator.credentials.apnsKeyPEM)
                .signature(for: Data((parts[0] + "." + parts[1]).utf8)).derRepresentation
            let asDER =
                parts[0] + "." + parts[1] + "."
                + der.base64EncodedString().replacingOccurrences(of: "+", with: "-")
                .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
            let cases: [(String, String)] = [
                (try await client.providerToken(issuer: "OTHERTEAM1"), "InvalidProviderToken"),
                (try await client.providerToken(keyID: "OTHERKEY01"), "InvalidProviderToken"),
                (try await client.providerToken(issued: .now.addingTimeInterval(-3700)), "ExpiredProviderToken"),
                (try await client.providerToken(issued: .now.addingTimeInterval(600)), "InvalidProviderToken"),
                (String(good.dropLast(4)) + "AAAA", "InvalidProviderToken"),
                (String(asDER), "InvalidProviderToken"),
            ]
            for (token, reason) in cases {
                let reply = try await client.push(authorization: token)
                #expect(reply.status == 403)
                #expect(reply.reason == reason, "\(token)")
            }
            #expect(try await client.push(authorization: good).status == 200)
        }
    }

    @Test func aCertificateStandsInPlaceOfATokenForItsTopics() async throws {
        let none: [String: String?] = ["authorization": nil]
        let withoutTopic = none.merging(["apns-topic": nil]) { $1 }
        let voIP = none.merging(["apns-push-type": "voip", "apns-topic": Self.bundle + ".voip"]) { $1 }
        let location = none.merging(["apns-push-type": "location", "apns-topic": Self.bundle + ".location-query"]) {
            $1
        }
        try await withClient(certificate: APNsCertificate(topics: [Self.bundle, Self.bundle + ".voip"])) { client in
            // A token is ignored, also a wrong one.
            let accepted = try await [
                client.push(authorization: "a.b.c"),
                client.push(token: Self.token("01"), headers: voIP, authorization: ""),
            ]
            #expect(accepted.map(\.status) == [200, 200])
            let refused = try await [
                client.push(headers: withoutTopic, authorization: ""),
                client.push(headers: location, authorization: ""),
            ]
            #expect(refused.map(\.reason) == ["MissingTopic", "TopicDisallowed"])
        }
        try await withClient(certificate: APNsCertificate(topics: [Self.bundle])) { client in
            let replies = try await [
                client.push(headers: withoutTopic, authorization: ""), client.push(headers: voIP, authorization: ""),
            ]
            #expect(replies.map(\.reason) == [nil, "TopicDisallowed"])
        }
    }

    @Test func tooManyNewProviderTokensOnAConnectionAreRefused() async throws {
        try await withClient { client in
            var replies: [Client.Reply] = []
            for minute in 0..<3 {
                let issued = Date.now.addingTimeInterval(Double(-60 * minute))
                replies.append(try await client.push(authorization: try await client.providerToken(issued: issued)))
            }
            #expect(replies.map(\.status) == [200, 200, 429])
            #expect(replies.last?.reason == "TooManyProviderTokenUpdates")
        }
    }

    @Test func aSandboxNamesItsOwnIDs() async throws {
        try await withClient(SimulatorConfiguration(sandbox: true)) { client in
            let reply = try await client.push(authorization: try await client.providerToken())
            #expect(reply.headers["apns-unique-id"] != nil)
        }
    }
}
