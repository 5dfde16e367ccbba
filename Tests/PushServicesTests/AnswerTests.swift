import HTTP2Engine
import OutgoingHTTP
import PushModel
import Testing

@testable import PushServices

/// The tables of the contract, once more, as a reader would write them.
enum AnswerCases {
    static let sent = Timestamp(milliseconds: 1_800_000_000_000)

    static let apns: [(Int, String, AnswerClass)] = [
        (400, "BadCollapseId", .permanent), (400, "BadDeviceToken", .drop), (400, "BadExpirationDate", .permanent),
        (400, "BadMessageId", .permanent), (400, "BadPriority", .permanent), (400, "BadTopic", .stop),
        (400, "DeviceTokenNotForTopic", .drop), (400, "DuplicateHeaders", .permanent),
        (400, "IdleTimeout", .connection),
        (400, "InvalidPushType", .permanent), (400, "MissingDeviceToken", .permanent), (400, "MissingTopic", .stop),
        (400, "PayloadEmpty", .permanent), (400, "TopicDisallowed", .stop), (403, "BadCertificate", .stop),
        (403, "BadCertificateEnvironment", .stop), (403, "ExpiredProviderToken", .credential),
        (403, "Forbidden", .stop),
        (403, "InvalidProviderToken", .credential), (403, "MissingProviderToken", .stop),
        (403, "UnrelatedKeyIdInToken", .connection), (403, "BadEnvironmentKeyIdInToken", .stop),
        (403, "BadEnvironmentKeyInToken", .stop), (404, "BadPath", .permanent), (405, "MethodNotAllowed", .permanent),
        (410, "Unregistered", .drop), (410, "ExpiredToken", .drop), (413, "PayloadTooLarge", .permanent),
        (429, "TooManyProviderTokenUpdates", .connection), (429, "TooManyRequests", .waitDevice),
        (500, "InternalServerError", .wait), (503, "ServiceUnavailable", .wait), (503, "Shutdown", .connection),
        (400, "BadChannelId", .permanent), (400, "ChannelNotRegistered", .permanent),
        (400, "FeatureNotEnabled", .permanent), (400, "MissingChannelId", .permanent),
        (400, "MissingPushType", .permanent), (400, "BadRequestParams", .permanent),
        (400, "BadRequestPayload", .permanent), (403, "TopicMismatch", .stop), (503, "Service Unavailable", .wait),
        // What no table knows goes by its status.
        (400, "NewReason", .permanent), (403, "NewReason", .stop), (410, "NewReason", .drop), (502, "NewReason", .wait),
        (302, "NewReason", .stop),
    ]

    struct FCMCase: Sendable {
        let status: Int
        var code: String?
        var field: String?
        var message = ""
        var quota: String?
        let expected: AnswerClass
    }

    static let fcm: [FCMCase] = [
        FCMCase(
            status: 400,
            code: "INVALID_ARGUMENT",
            message: "The registration token is not a valid FCM registration token",
            expected: .drop
        ),
        FCMCase(status: 400, code: "INVALID_ARGUMENT", field: "message.token", expected: .drop),
        FCMCase(status: 400, code: "INVALID_ARGUMENT", field: "message.fid", expected: .drop),
        FCMCase(status: 400, code: "INVALID_ARGUMENT", field: "message.android.ttl", expected: .permanent),
        FCMCase(
            status: 400,
            code: "INVALID_ARGUMENT",
            field: "message.data",
            message: "The registration token is not a valid FCM registration token",
            expected: .permanent
        ),
        FCMCase(status: 400, code: "INVALID_ARGUMENT", message: "Message too big", expected: .permanent),
        FCMCase(status: 400, field: "message.data", expected: .permanent),
        FCMCase(status: 400, expected: .permanent),
        FCMCase(status: 401, expected: .credential),
        FCMCase(status: 401, code: "THIRD_PARTY_AUTH_ERROR", expected: .stop),
        FCMCase(status: 401, code: "APNS_AUTH_ERROR", expected: .stop),
        FCMCase(status: 403, expected: .stop),
        FCMCase(status: 403, code: "SENDER_ID_MISMATCH", expected: .drop),
        FCMCase(status: 404, code: "UNREGISTERED", expected: .drop),
        FCMCase(status: 404, message: "Requested entity was not found.", expected: .stop),
        FCMCase(status: 429, code: "QUOTA_EXCEEDED", expected: .wait),
        FCMCase(status: 429, code: "QUOTA_EXCEEDED", quota: "Device message rate exceeded", expected: .waitDevice),
        FCMCase(status: 429, expected: .wait),
        FCMCase(status: 500, code: "INTERNAL", expected: .wait),
        FCMCase(status: 502, expected: .wait),
        FCMCase(status: 503, code: "UNAVAILABLE", expected: .wait),
        FCMCase(status: 504, expected: .wait),
        FCMCase(status: 503, code: "UNSPECIFIED_ERROR", expected: .wait),
        FCMCase(status: 404, code: "UNSPECIFIED_ERROR", expected: .stop),
    ]

    static let wns: [(Int, [String: String], AnswerClass)] = [
        (200, ["X-WNS-Status": "received"], .accepted), (200, ["X-WNS-Status": "dropped"], .permanent),
        (200, ["X-WNS-Status": "channelthrottled"], .waitDevice), (200, [:], .accepted), (400, [:], .permanent),
        (401, [:], .credential), (403, [:], .drop), (404, [:], .drop), (405, [:], .permanent), (406, [:], .wait),
        (410, [:], .drop), (410, ["X-WNS-Error-Description": "Domain Blocked"], .stop), (412, [:], .waitDevice),
        (413, [:], .permanent), (500, [:], .wait), (503, [:], .wait), (301, [:], .stop),
    ]

    static let results: [(AnswerClass, DeviceResult)] = [
        (.accepted, .accepted),
        (.wait, .retry(after: .seconds(1), scope: .sender, counts: true, reason: "r", status: 1)),
        (.connection, .retry(after: .seconds(1), scope: .sender, counts: true, reason: "r", status: 1)),
        (.waitDevice, .retry(after: .seconds(1), scope: .device, counts: true, reason: "r", status: 1)),
        (.credential, .misconfigured(reason: "r", status: 1)), (.stop, .misconfigured(reason: "r", status: 1)),
        (.drop, .dead(before: AnswerCases.sent, reason: "r", status: 1)),
        (.permanent, .rejected(reason: "r", status: 1)),
    ]
}

@Suite("Classification of answers")
struct AnswerTests {
    private static let sent = AnswerCases.sent

    @Test("APNs", arguments: AnswerCases.apns)
    func apns(status: Int, reason: String, expected: AnswerClass) {
        let answer = APNsAnswers.answer(HTTP2Response(status: status, body: Array(#"{"reason":"\#(reason)"}"#.utf8)))
        #expect(answer.answer == expected)
        #expect(answer.reason == reason)
    }

    @Test("APNs' timestamp of a dead token is kept, in milliseconds")
    func apnsTimestamp() {
        let body = Array(#"{"reason":"Unregistered","timestamp":1700000000123}"#.utf8)
        let result = APNsAnswers.answer(HTTP2Response(status: 410, body: body)).result(sent: Self.sent)
        #expect(
            result == .dead(before: Timestamp(milliseconds: 1_700_000_000_123), reason: "Unregistered", status: 410)
        )
        let bad = Array(#"{"reason":"BadDeviceToken"}"#.utf8)
        #expect(
            APNsAnswers.answer(HTTP2Response(status: 400, body: bad)).result(sent: Self.sent)
                == .dead(before: Self.sent, reason: "BadDeviceToken", status: 400)
        )
    }

    @Test("a body that is not JSON is ignored", arguments: ["", "<html>", "[]", #"{"reason":7}"#, "\u{0}\u{1}"])
    func garbage(body: String) {
        let response = HTTP2Response(status: 503, body: Array(body.utf8))
        #expect(APNsAnswers.answer(response).answer == .wait)
        #expect(FCMAnswers.answer(response).answer == .wait)
    }

    @Test("a long reason with control characters is cleaned and truncated")
    func hostileReason() {
        let long = String(repeating: "x", count: 5000)
        let body = Array("{\"reason\":\"a\\u0007\\n\(long)\"}".utf8)
        let answer = APNsAnswers.answer(HTTP2Response(status: 400, body: body))
        #expect(answer.reason.utf8.count == 80)
        #expect(answer.reason.hasPrefix("ax"))
    }

    @Test("FCM", arguments: AnswerCases.fcm)
    func fcm(test: AnswerCases.FCMCase) {
        var details: [String] = []
        if let code = test.code {
            details.append(#"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(code)"}"#)
        }
        if let field = test.field {
            details.append(
                #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"\#(field)"}]}"#
            )
        }
        if let quota = test.quota {
            details.append(
                #"{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"description":"\#(quota)"}]}"#
            )
        }
        let body = #"{"error":{"message":"\#(test.message)","details":[\#(details.joined(separator: ","))]}}"#
        let answer = FCMAnswers.answer(HTTP2Response(status: test.status, body: Array(body.utf8)))
        #expect(answer.answer == test.expected)
    }

    @Test("FCM's violations of fields reach the reason, bounded and without control characters")
    func fcmViolations() {
        func reason(_ violations: String, message: String = "Request contains an invalid argument.") -> String {
            let body = #"""
                {"error":{"code":400,"message":"\#(message)","status":"INVALID_ARGUMENT","details":[{"@type":\#
                "type.googleapis.com/google.rpc.BadRequest","fieldViolations":[\#(violations)]},{"@type":\#
                "type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"INVALID_ARGUMENT"}]}}
                """#
            return FCMAnswers.answer(HTTP2Response(status: 400, body: Array(body.utf8))).reason
        }
        let channel =
            #"{"field":"message.notification","description":"Unknown name \"channel_id\": Cannot find field."}"#
        #expect(
            reason(channel)
                == #"INVALID_ARGUMENT; message.notification: Unknown name "channel_id": Cannot find field."#
        )
        #expect(
            reason(#"{"field":"a"},{"description":"b\u0007\nc"}"#) == "INVALID_ARGUMENT; a; bc"
        )
        #expect(reason("", message: "Message too big").hasSuffix("INVALID_ARGUMENT; Message too big"))
        let many = Array(repeating: #"{"field":"\#(String(repeating: "f", count: 900))"}"#, count: 1000)
        #expect(reason(many.joined(separator: ",")).utf8.count == 200)
    }

    /// Google names the project and the account, which are not the sender's.
    @Test("what FCM says of a refused credential is for the operator", arguments: [401, 403, 404])
    func fcmRefusals(status: Int) {
        let denied = "Permission 'cloudmessaging.messages.create' denied on resource projects/acme-4711"
        let body = #"{"error":{"code":\#(status),"message":"\#(denied)\u0007\n","status":"X"}}"#
        let answer = FCMAnswers.answer(HTTP2Response(status: status, body: Array(body.utf8)))
        let expected = DeviceResult.misconfigured(reason: "status \(status)", status: status, detail: denied)
        #expect(answer.result(sent: Self.sent) == expected)
        let long = #"{"error":{"message":"\#(String(repeating: "y", count: 5000))"}}"#
        let bounded = FCMAnswers.answer(HTTP2Response(status: status, body: Array(long.utf8)))
        #expect(bounded.detail?.utf8.count == 200)
        #expect(FCMAnswers.answer(HTTP2Response(status: status)).detail == nil)
    }

    @Test("FCM is never retried too soon", arguments: [(429, 60), (500, 10), (503, 10)])
    func fcmWait(status: Int, seconds: Int) {
        #expect(FCMAnswers.answer(HTTP2Response(status: status)).retryAfter == .seconds(seconds))
        let told = HTTP2Response(status: status, headers: [HTTP2Field("retry-after", "3")])
        #expect(FCMAnswers.answer(told).retryAfter == .seconds(3))
    }

    @Test("WNS", arguments: AnswerCases.wns)
    func wns(status: Int, headers: [String: String], expected: AnswerClass) {
        #expect(WNSAnswers.answer(status: status) { headers[$0] }.answer == expected)
    }

    @Test("what WNS says of a fault is kept, in more than a word, and bounded")
    func wnsWords() {
        let text =
            "The channel URI is for another application; its package security identifier does not match the token's"
        #expect(WNSAnswers.answer(status: 403) { ["X-WNS-Error-Description": text][$0] }.reason == text)
        let long = String(repeating: "y\u{7}", count: 5000)
        let dropped = WNSAnswers.answer(status: 200) {
            ["X-WNS-Status": "dropped", "X-WNS-Error-Description": long][$0]
        }
        #expect(dropped.reason.hasPrefix("dropped: yyy") && dropped.reason.utf8.count == 200)
    }

    @Test("WNS' waits")
    func wnsWaits() {
        #expect(WNSAnswers.answer(status: 406) { ["Retry-After": "9"][$0] }.retryAfter == .seconds(9))
        #expect(WNSAnswers.answer(status: 412) { _ in nil }.retryAfter == .seconds(3600))
        let throttled = ["X-WNS-Status": "channelthrottled", "X-WNS-CONTINUE-AFTER": "40"]
        #expect(WNSAnswers.answer(status: 200) { throttled[$0] }.retryAfter == .seconds(40))
    }

    @Test("each class has one result", arguments: AnswerCases.results)
    func result(answer: AnswerClass, expected: DeviceResult) {
        #expect(Answer(answer, status: 1, reason: "r", retryAfter: .seconds(1)).result(sent: Self.sent) == expected)
    }

    @Test(
        "Retry-After",
        arguments: [
            ("0", 0), ("3", 3), ("120", 120), ("99999999999999999999", 604_800), ("Sun, 06 Nov 1994 08:49:37 GMT", 0),
            ("Fri, 15 Jan 2027 08:00:30 GMT", 30), ("Tue, 29 Feb 2028 00:00:00 GMT", 604_800),
        ] as [(String, Int)]
    )
    func retryAfter(text: String, seconds: Int) {
        #expect(RetryAfter.parse(text, now: Self.sent) == .seconds(seconds))
    }

    @Test(
        "what is no Retry-After",
        arguments: ["", "-1", "soon", "1.5", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT"]
    )
    func noRetryAfter(text: String) { #expect(RetryAfter.parse(text) == nil) }

    /// By a clock here that is a day behind, a wait of nine seconds would be one of a day; the answer says what time it is.
    @Test(arguments: [-86_400, 0, 86_400])
    func aDateIsReadByTheClockOfItsAnswer(ahead: Int64) throws {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        let headers = ["Date": date, "Retry-After": "Sun, 06 Nov 1994 08:49:46 GMT"]
        let now = try #require(RetryAfter.date(date)).advanced(by: .seconds(ahead))
        #expect(RetryAfter.wait(now: now) { headers[$0] } == .seconds(9))
        #expect(RetryAfter.wait(now: now) { ["Retry-After": "9"][$0] } == .seconds(9))
        // Without it, or with one that cannot be read, this clock is all there is.
        let own: Duration = .seconds(max(0, 9 - ahead))
        #expect(RetryAfter.wait(now: now) { $0 == "Date" ? nil : headers[$0] } == own)
        #expect(RetryAfter.wait(now: now) { $0 == "Date" ? "today" : headers[$0] } == own)
        #expect(RetryAfter.wait(now: now) { ["Date": date][$0] } == nil)
        // Each service's answers read it so: by this clock it would be over.
        #expect(WNSAnswers.answer(status: 503) { headers[$0] }.retryAfter == .seconds(9))
        let fields = headers.map { HTTP2Field($0.key.lowercased(), $0.value) }
        let response = HTTP2Response(status: 503, headers: fields)
        #expect(FCMAnswers.answer(response).retryAfter == .seconds(9))
        #expect(APNsAnswers.answer(response).retryAfter == .seconds(9))
    }
}
