import Foundation
import Testing

@testable import PushlineSimulator

@Suite("FCM's rules")
struct FCMRuleTests {
    static let refused: [(String, field: String?)] = [
        (#"{"message""#, nil),
        (#"{"message":{"token":"t"},"more":1}"#, ""),
        (#"{"message":{"token":"t","text":"x"}}"#, "message"),
        (#"{"message":{"data":{"a":"b"}}}"#, "message"),
        (#"{"message":{"token":"t","topic":"news"}}"#, "message"),
        (#"{"message":{"token":"not a token"}}"#, "message.token"),
        (#"{"message":{"token":"t","data":{"a":1}}}"#, "message.data[0].value"),
        (#"{"message":{"token":"t","data":{"a":{"b":"c"}}}}"#, "message.data[0].value"),
        (#"{"message":{"token":"t","data":{"from":"x"}}}"#, "message.data[from]"),
        (#"{"message":{"token":"t","data":{"google.x":"x"}}}"#, "message.data[google.x]"),
        (#"{"message":{"token":"t","android":{"ttl":3600}}}"#, "message.android.ttl"),
        (#"{"message":{"token":"t","android":{"ttl":"2419201s"}}}"#, "message.android.ttl"),
        (#"{"message":{"token":"t","android":{"priority":"URGENT"}}}"#, "message.android.priority"),
        (#"{"message":{"token":"t","android":{"colour":"red"}}}"#, "message.android"),
        (Self.message(of: 4097), "message"),
        (#"{"message":{"token":"t","notification":{"titel":"x"}}}"#, "message.notification"),
        (#"{"message":{"token":"t","notification":{"title":7}}}"#, "message.notification.title"),
        (Self.android(#""color":"red""#), "message.android.notification.color"),
        (Self.android(#""notification_count":"2""#), "message.android.notification.notification_count"),
        (Self.android(#""visibility":"secret""#), "message.android.notification.visibility"),
        (Self.android(#""titleLocArgs":"x""#), "message.android.notification.titleLocArgs"),
        (Self.android(#""channel":"x""#), "message.android.notification"),
        (#"{"message":{"token":"t","android":{"direct_boot_ok":"yes"}}}"#, "message.android.direct_boot_ok"),
        (#"{"message":{"token":"t","fcm_options":{"analytics_label":"a b"}}}"#, "message.fcm_options.analytics_label"),
        (#"{"message":{"token":"t","fid":"cAbCdEfGhIjKlMnOpQrSt_"}}"#, "message"),
        (#"{"message":{"fid":"t:APA91b"}}"#, "message.fid"),
        (#"{"message":{"fid":"aAbCdEfGhIjKlMnOpQrSt_"}}"#, "message.fid"),
        (#"{"message":{"fid":7}}"#, "message.fid"),
        (Self.part("apns", #""header":{}"#), "message.apns"),
        (Self.part("apns", #""headers":{"apns-priority":10}"#), "message.apns.headers"),
        (Self.part("apns", #""payload":"{}""#), "message.apns.payload"),
        (Self.part("apns", #""live_activity_token":["t"]"#), "message.apns.live_activity_token"),
        (Self.part("apns", #""fcm_options":{"link":"https://x"}"#), "message.apns.fcm_options"),
        (Self.part("apns", #""fcmOptions":{"image":7}"#), "message.apns.fcm_options.image"),
        (Self.part("apns", #""fcm_options":[]"#), "message.apns.fcm_options"),
        (#"{"message":{"token":"t","apns":[]}}"#, "message.apns"),
        (Self.part("webpush", #""Headers":{}"#), "message.webpush"),
        (Self.part("webpush", #""headers":{"TTL":15}"#), "message.webpush.headers"),
        (Self.part("webpush", #""data":{"a":null}"#), "message.webpush.data"),
        (Self.part("webpush", #""notification":"x""#), "message.webpush.notification"),
        (Self.part("webpush", #""fcm_options":{"link":"http://x"}"#), "message.webpush.fcm_options.link"),
        (Self.part("webpush", #""fcm_options":{"image":"x"}"#), "message.webpush.fcm_options"),
    ]

    private static let accepted = [
        #"{"message":{"fid":"cAbCdEfGhIjKlMnOpQrSt_"}}"#,
        Self.part(
            "apns",
            #""headers":{"apns-priority":"10"},"payload":{"aps":{"badge":1},"own":[7]},"fcmOptions":{"image":"https://x","analytics_label":"a"},"liveActivityToken":"ab""#
        ),
        Self.part(
            "webpush",
            #""headers":{"TTL":"15"},"data":{"a":"b"},"notification":{"title":"t","vibrate":[1]},"fcm_options":{"link":"https://x"}"#
        ),
    ]

    private static func part(_ platform: String, _ members: String) -> String {
        #"{"message":{"token":"t","\#(platform)":{\#(members)}}}"#
    }

    private static func android(_ members: String) -> String {
        #"{"message":{"token":"t","android":{"notification":{\#(members)}}}}"#
    }

    static func message(of size: Int) -> String {
        #"{"message":{"token":"t","data":{"m":""# + String(repeating: "x", count: size - 1) + #""}}}"#
    }

    @Test func badMessagesAreRefusedByField() async throws {
        try await withClient { client in
            let token = try await client.fcmToken()
            for (body, field) in Self.refused {
                let reply = try await client.message(body, authorization: token)
                #expect(reply.status == 400, "\(body.prefix(60))")
                let error = try #require(reply.json["error"] as? [String: Any])
                #expect(error["status"] as? String == "INVALID_ARGUMENT")
                #expect(error["code"] as? Int == 400)
                let details = error["details"] as? [[String: Any]] ?? []
                let types = details.compactMap { $0["@type"] as? String }
                let violations = details.compactMap { $0["fieldViolations"] as? [[String: Any]] }.first
                #expect(violations?.first?["field"] as? String == field, "\(body.prefix(60))")
                // A target of the wrong type is a fault of the JSON.
                let isTarget = ["message.token", "message.fid"].contains(field) && !body.contains(":7")
                #expect(types.contains("type.googleapis.com/google.firebase.fcm.v1.FcmError") == isTarget)
            }
            for body in Self.accepted + [Self.message(of: 4096)] {
                #expect(try await client.message(body, authorization: token).status == 200, "\(body.prefix(60))")
            }
            #expect(client.simulator.received(token: "fid:cAbCdEfGhIjKlMnOpQrSt_").last?.status == 200)
        }
    }

    @Test func whatIsOnlyValidatedIsNoAcceptedPush() async throws {
        try await withClient { client in
            let token = try await client.fcmToken()
            for flag in ["validate_only", "validateOnly"] {
                let good = try await client.message(#"{"\#(flag)":true,"message":{"token":"t"}}"#, authorization: token)
                #expect(good.status == 200)
                let bad = try await client.message(#"{"\#(flag)":true,"message":{"text":"t"}}"#, authorization: token)
                #expect(bad.status == 400)
            }
            #expect(client.simulator.counts.fcm.accepted == 0)
            #expect(client.simulator.counts.fcm.reasons["validate_only"] == 2)
            #expect(try await client.message(#"{"message":{"token":"t"}}"#, authorization: token).status == 200)
            #expect(client.simulator.counts.fcm.accepted == 1)
        }
    }

    @Test func requestsAreRefusedBeforeTheirMessage() async throws {
        try await withClient { client in
            let good = #"{"message":{"token":"t"}}"#
            let token = try await client.fcmToken()
            #expect(try await client.message(good, authorization: "other").status == 401)
            #expect(try await client.message(good, authorization: token, project: "other").status == 403)
            #expect(try await client.message(good, authorization: token, type: "text/plain").status == 400)
            let wrong = try await client.send("POST", try client.simulator.urls.fcm + "/batch", body: good)
            #expect(wrong.status == 404)
            client.simulator.revokeAccessTokens()
            #expect(try await client.message(good, authorization: token).status == 401)
        }
    }

    @Test func accessTokensExpire() async throws {
        try await withClient(SimulatorConfiguration(accessTokenLifetime: 0)) { client in
            let token = try await client.fcmToken()
            #expect(try await client.message(#"{"message":{"token":"t"}}"#, authorization: token).status == 401)
        }
    }

    @Test func assertionsAreVerified() async throws {
        try await withClient { client in
            let changes: [((inout Client.AssertionClaims) -> Void, String)] = [
                ({ $0.iss = "other@example.com" }, "invalid_grant"),
                ({ $0.aud = "https://oauth2.googleapis.com/token" }, "invalid_grant"),
                ({ $0.exp = $0.iat + 3601 }, "invalid_grant"),
                (
                    {
                        $0.iat -= 7200; $0.exp -= 7200
                    }, "invalid_grant"
                ),
                (
                    {
                        $0.iat += 600; $0.exp += 600
                    }, "invalid_grant"
                ),
                ({ $0.scope = "https://www.googleapis.com/auth/drive" }, "invalid_scope"),
            ]
            for (change, error) in changes {
                let reply = try await client.exchange(assertion: try await client.assertion(change))
                #expect(reply.status == 400)
                #expect(reply.json["error"] as? String == error)
            }
            let good = try await client.assertion()
            let forged = try await client.exchange(assertion: String(good.dropLast(8)) + "AAAAAAAA")
            #expect(forged.json["error"] as? String == "invalid_grant")
            let url = try client.serviceAccount().token_uri
            let other = try await client.form(url, [("grant_type", "password"), ("assertion", good)])
            #expect(other.json["error"] as? String == "unsupported_grant_type")
            let reply = try await client.exchange(assertion: good)
            #expect(reply.json["expires_in"] as? Int == 3599)
            #expect(reply.json["token_type"] as? String == "Bearer")
        }
    }
}
