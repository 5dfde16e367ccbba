import Foundation
import Testing
import Undisturbed

@testable import PushlineSimulator

@Suite("FCM's rules", .undisturbed)
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
        (Self.android(#""notification_count":"two""#), "message.android.notification.notification_count"),
        (Self.android(#""visibility":"hidden""#), "message.android.notification.visibility"),
        (Self.android(#""titleLocArgs":"x""#), "message.android.notification.title_loc_args"),
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

    /// Fields of a wrong type, in both spellings, and too large.
    private static let refusedFields: [(String, field: String?)] = [
        (#"{"message":{"token":"t"},"validate_only":1}"#, "validate_only"),
        (#"{"message":{"token":"t","name":7}}"#, "message.name"),
        (#"{"message":{"token":null}}"#, "message"),
        (#"{"message":null}"#, "message"),
        (#"{"message":{"token":"t","data":[]}}"#, "message.data"),
        (Self.part("android", #""collapse_key":7"#), "message.android.collapse_key"),
        (Self.part("android", #""restrictedPackageName":["x"]"#), "message.android.restricted_package_name"),
        (Self.part("android", #""bandwidth_constrained_ok":1"#), "message.android.bandwidth_constrained_ok"),
        (Self.part("android", #""restricted_satellite_ok":"no""#), "message.android.restricted_satellite_ok"),
        (Self.part("android", #""direct_boot_ok":0"#), "message.android.direct_boot_ok"),
        (Self.part("android", #""ttl":"-1s""#), "message.android.ttl"),
        (Self.part("android", #""data":{"a":1}"#), "message.android.data[0].value"),
        (Self.part("android", #""collapse_key":"a","collapseKey":"a""#), "message.android"),
        (#"{"message":{"token":"t","fcm_options":{},"fcmOptions":{}}}"#, "message"),
        (#"{"message":{"token":"t"},"validate_only":true,"validateOnly":true}"#, ""),
        (Self.android(#""channel_id":"a","channelId":"b""#), "message.android.notification"),
        (Self.android(#""notification_count":true"#), "message.android.notification.notification_count"),
        (Self.android(#""notification_count":1.5"#), "message.android.notification.notification_count"),
        (Self.android(#""sticky":"on""#), "message.android.notification.sticky"),
        (Self.android(#""event_time":"tomorrow""#), "message.android.notification.event_time"),
        (Self.android(#""event_time":1790000000"#), "message.android.notification.event_time"),
        (Self.android(#""vibrate_timings":["1"]"#), "message.android.notification.vibrate_timings"),
        (Self.android(#""vibrate_timings":"1s""#), "message.android.notification.vibrate_timings"),
        (Self.android(#""proxy":"MAYBE""#), "message.android.notification.proxy"),
        (Self.android(#""light_settings":"red""#), "message.android.notification.light_settings"),
        (Self.android(#""light_settings":{"colour":{}}"#), "message.android.notification.light_settings"),
        (
            Self.android(#""lightSettings":{"color":{"red":"much"}}"#),
            "message.android.notification.light_settings.color.red"
        ),
        (
            Self.android(#""light_settings":{"light_on_duration":2}"#),
            "message.android.notification.light_settings.light_on_duration"
        ),
        (Self.part("android", #""notification":{"body_loc_args":["\#(Self.long(4090))"]}"#), "message"),
        (Self.part("webpush", #""notification":{"actions":[{"title":"\#(Self.long(4090))"}]}"#), "message"),
        (Self.part("webpush", #""data":{"k":"\#(Self.long(4096))"}"#), "message"),
        (Self.part("apns", #""payload":{"aps":{"badge":1},"k":["\#(Self.long(4090))"]}"#), "message"),
    ]

    /// The part for Apple's devices.
    private static let refusedForApple: [(String, field: String?)] = {
        let payloads = [
            "{}", #"{"k":"v"}"#, #"{"aps":{}}"#, #"{"aps":null}"#, #"{"aps":"x"}"#, #"{"aps":[1]}"#,
            #"{"aps":{"alert":7}}"#, #"{"aps":{"alert":["a"]}}"#, #"{"aps":{"badge":"7"}}"#, #"{"aps":{"badge":true}}"#,
            #"{"aps":{"alert":"a","sound":1}}"#, #"{"aps":{"content-available":"1"}}"#,
            #"{"aps":{"alert":"a","mutable-content":"1"}}"#, #"{"aps":{"alert":"a","mutable-content":{}}}"#,
        ]
        let headers = [
            #"{"apns-priority":"7"}"#, #"{"apns-priority":"high"}"#, #"{"apns-push-type":"loud"}"#,
            #"{"apns-expiration":"soon"}"#, #"{"apns-expiration":"1790000000000"}"#, #"{"Apns-Priority":"0"}"#,
            #"{"apns-collapse-id":"\#(Self.long(65))"}"#, #"{"apns-push-type":"background","apns-priority":"10"}"#,
        ]
        var rows: [(String, field: String?)] = []
        for payload in payloads { rows.append((Self.part("apns", #""payload":\#(payload)"#), "message.apns.payload")) }
        for header in headers { rows.append((Self.part("apns", #""headers":\#(header)"#), "message.apns.headers")) }
        for flag in ["1", "true"] {
            let part = #""headers":{"apns-priority":"10"},"payload":{"aps":{"content-available":\#(flag)}}"#
            rows.append((Self.part("apns", part), "message.apns.headers"))
        }
        return rows
    }()

    private static func long(_ count: Int) -> String { String(repeating: "x", count: count) }

    private static let accepted = [
        #"{"message":{"token":"t","name":"7","data":null,"notification":null,"topic":null},"validate_only":null}"#,
        Self.part(
            "android",
            #""collapse_key":"a","restricted_package_name":"a.b","bandwidth_constrained_ok":true,"restrictedSatelliteOk":false,"priority":"high""#
        ),
        Self.part("android", #""direct_boot_ok":"true","priority":null,"ttl":"3.5s","data":null"#),
        Self.android(
            #""event_time":"2026-12-24T19:00:00.5Z","vibrate_timings":["0.5s","1s"],"proxy":"if_priority_lowered","visibility":"public""#
        ),
        Self.android(
            #""light_settings":{"color":{"red":1,"green":0.5,"alpha":"1"},"light_on_duration":"1s","lightOffDuration":"2.5s"}"#
        ),
        Self.android(#""notification_count":"2","notification_priority":2,"event_time":"2026-12-24T19:00:00+01:00""#),
        Self.part("apns", #""payload":null,"headers":null"#),
        Self.part(
            "apns",
            #""payload":{"aps":{"alert":{"title":"a"},"badge":0,"sound":{"critical":1},"category":7,"x":[]}}"#
        ),
        Self.part(
            "apns",
            #""payload":{"aps":{"alert":null,"badge":null,"content-available":true,"mutable-content":1}}"#
        ),
        Self.part(
            "apns",
            #""headers":{"apns-priority":"5","apns-push-type":"background","apns-expiration":"0"},"payload":{"aps":{"content-available":1}}"#
        ),
        Self.part("apns", #""headers":{"apns-priority":"10"},"payload":{"aps":{"content-available":1,"badge":0}}"#),
        Self.part("apns", #""headers":{"apns-priority":"10","x":"y"}"#),
        #"{"message":{"token":"t","notification":{"body":"a"},"apns":{"headers":{"apns-priority":"10"},"payload":{"aps":{"content-available":1}}}}}"#,
        // Each platform gets its own part: together they may have more.
        #"{"message":{"token":"t","android":{"data":{"k":"\#(Self.long(3000))"}},"webpush":{"data":{"k":"\#(Self.long(3000))"}}}}"#,
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
            for (body, field) in Self.refused + Self.refusedFields + Self.refusedForApple {
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
