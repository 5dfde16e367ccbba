import Foundation
import HTTPTypes
import HubWire
import PushModel
import Testing
import Undisturbed

@Suite("Sends through a hub", .undisturbed)
struct HubSendTests {
    private static let apple = #"{"aps":{"alert":"x"}}"#

    private func headers(_ format: String, _ more: [String: String] = [:]) -> [String: String] {
        ["ServiceBusNotification-Format": format].merging(more) { $1 }
    }

    private func form(_ send: SendRequest) throws -> NativePayload {
        guard case .native(let native) = send.content else { throw InvalidValue("no native payload") }
        return try #require(native.forms.first)
    }

    @Test("A native send of each platform goes to its service alone, with its bytes")
    func formats() async throws {
        try await HubHarness.run { hub in
            let toast = "<toast><visual/></toast>"
            for (format, body, type, pns, sent) in [
                ("apple", Self.apple, "application/json;charset=utf-8", PushService.apns, Self.apple),
                ("APPLE", Self.apple, "application/json", .apns, Self.apple),
                ("fcmv1", #"{"message":{"data":{"a":"b"}}}"#, "application/json", .fcm, #"{"data":{"a":"b"}}"#),
                ("fcmV1", #"{"message":{"data":{"a":"b"}}}"#, "application/json", .fcm, #"{"data":{"a":"b"}}"#),
                ("gcm", #"{"data":{"a":"b"}}"#, "application/json", .fcm, #"{"data":{"a":"b"}}"#),
                ("windows", toast, "application/xml", .wns, toast),
            ] {
                let answer = try await hub.call(
                    .post,
                    "/default/messages/?api-version=2020-06",
                    as: "Send",
                    body: body,
                    headers: self.headers(format, ["Content-Type": type, "X-WNS-Type": "wns/toast"])
                )
                #expect(answer.status == 201 && answer.bytes.isEmpty, "\(format): \(answer.text)")
                #expect(
                    answer.header("Location")?.contains(
                        /^https:\/\/localhost(?::[0-9]+)?\/default\/messages\/[0-9a-f-]{36}\?api-version=2020-06$/
                    ) == true
                )
                let send = try await hub.send(of: answer)
                #expect(send.platforms == [pns] && send.audience == .all)
                #expect(String(decoding: try self.form(send).body, as: UTF8.self) == sent)
                #expect(try await hub.job(of: answer).key == "hub:Send")
            }
        }
    }

    @Test("A payload of the retired interface goes out without the part for Apple, and its sender is told")
    func legacyParts() async throws {
        try await HubHarness.run { hub in
            let payload =
                #"{"notification":{"title":"T","android_channel_id":"sales"},"aps":{"alert":"T"}}"#
            let answer = try await hub.call(
                .post,
                "/default/messages/?api-version=2020-06",
                as: "Send",
                body: payload,
                headers: self.headers("gcm", ["Content-Type": "application/json"])
            )
            #expect(answer.status == 201 && answer.header("Pushline-Warning")?.hasPrefix("aps: is left out") == true)
            #expect(
                String(decoding: try self.form(try await hub.send(of: answer)).body, as: UTF8.self)
                    == #"{"notification":{"title":"T"},"android":{"notification":{"channel_id":"sales"}}}"#
            )
            // What FCM would reject for each device is refused.
            let refused = try await hub.call(
                .post,
                "/default/messages/?api-version=2020-06",
                as: "Send",
                body: #"{"message":{"notification":{"title":"T","channel_id":"sales"}}}"#,
                headers: self.headers("fcmv1", ["Content-Type": "application/json"])
            )
            #expect(
                refused.status == 400 && refused.text.contains("message.notification.channel_id"),
                "\(refused.text)"
            )
        }
    }

    @Test("Tags select, with those of the system; without any it is for all; an empty expression is refused")
    func audiences() async throws {
        try await HubHarness.run { hub in
            for (tags, ours) in [
                ("a||b", "a || b"), ("(a || b) && !c", "(a || b) && !c"),
                ("$InstallationId:{X-1} && t", "installation:X-1 && t"), ("$UserId:{ann}", "username:ann"),
                (
                    (0..<30).map { "t\($0)" }.joined(separator: "||"),
                    (0..<30).map { "t\($0)" }.joined(separator: " || ")
                ),
            ] {
                let answer = try await hub.call(
                    .post,
                    "/default/messages",
                    body: Self.apple,
                    headers: self.headers("apple", ["ServiceBusNotification-Tags": tags])
                )
                #expect(answer.status == 201, "\(tags): \(answer.text)")
                #expect(try await hub.send(of: answer).audience.expression?.description == ours)
            }
            for tags in ["", "a &&", "$x", "a b"] {
                let answer = try await hub.call(
                    .post,
                    "/default/messages",
                    body: Self.apple,
                    headers: self.headers("apple", ["ServiceBusNotification-Tags": tags])
                )
                #expect(
                    answer.status == 400 && answer.text.contains("ServiceBusNotification-Tags"),
                    "\(tags): \(answer.status)"
                )
            }
        }
    }

    @Test("Headers of APNs pass, in each of their spellings; those that the app decides are left out")
    func apnsHeaders() async throws {
        try await HubHarness.run { hub in
            let answer = try await hub.call(
                .post,
                "/default/messages",
                body: Self.apple,
                headers: self.headers(
                    "apple",
                    [
                        "apns-push-type": "alert", "X-Apns-Priority": "5", "apns-topic": "other", "apns-id": "x",
                        "apns-collapse-id": "c",
                        "ServiceBusNotification-Apns-Expiry": "01/15/2027 08:00:00",
                    ]
                )
            )
            #expect(answer.status == 201, "\(answer.text)")
            let form = try self.form(try await hub.send(of: answer))
            #expect(
                form.kind == .alert && form.header("apns-priority") == "5" && form.header("apns-collapse-id") == "c"
            )
            #expect(form.header("apns-expiration") == "1800000000" && form.headers.count == 3)
            let odd = try await hub.call(
                .post,
                "/default/messages",
                body: Self.apple,
                headers: self.headers("apple", ["ServiceBusNotification-Apns-Expiry": "soon"])
            )
            #expect(odd.status == 201)
        }
    }

    @Test("A direct send goes to one handle; a batch to up to 1000, each once")
    func direct() async throws {
        try await HubHarness.run { hub in
            for flag in ["?direct&api-version=2015-04", "?api-version=2020-06&direct=true"] {
                let answer = try await hub.call(
                    .post,
                    "/default/messages/\(flag)",
                    body: Self.apple,
                    headers: self.headers("apple", ["ServiceBusNotification-DeviceHandle": HubHarness.token])
                )
                #expect(answer.status == 201, "\(answer.text)")
                #expect(
                    try await hub.send(of: answer).audience == .list(RecipientCount(kind: .handles, given: 1, count: 1))
                )
            }
            let missing = try await hub.call(
                .post,
                "/default/messages?direct",
                body: Self.apple,
                headers: self.headers("apple")
            )
            #expect(missing.status == 400 && missing.text.contains("DeviceHandle"))
            let body = """
                --nh-boundary-1\r\nContent-type: application/json\r\nContent-Disposition: inline; name=notification\r\n\r\n\(Self.apple)\r\n\
                --nh-boundary-1\r\nContent-type: application/json\r\nContent-Disposition: inline; name=devices\r\n\r\n\
                ["\(HubHarness.token)","\(HubHarness.token.lowercased())","\(String(repeating: "01", count: 32))"]\r\n--nh-boundary-1--\r\n
                """
            let batch = try await hub.call(
                .post,
                "/default/messages/$batch?direct&api-version=2020-06",
                body: body,
                headers: self.headers("apple", ["Content-Type": "multipart/mixed; boundary = \"nh-boundary-1\""])
            )
            #expect(batch.status == 201, "\(batch.text)")
            #expect(
                batch.header("Location")?.contains("/default/messages/") == true
                    && batch.header("Location")?.contains("batch") == false
            )
            #expect(try await hub.send(of: batch).audience == .list(RecipientCount(kind: .handles, given: 3, count: 2)))
        }
    }

    @Test("A batch has a thousand handles of each service")
    func thousandHandles() async throws {
        try await HubHarness.run { hub in
            let apple = (0..<1000).map { String(format: "%064x", $0) }
            let google = (0..<1000).map { "d\($0):APA91b" + String(repeating: "x", count: 140) }
            for (format, notification, handles) in [
                ("apple", Self.apple, apple), ("fcmv1", #"{"message":{"data":{"a":"b"}}}"#, google),
            ] {
                let body = DirectSendBody(
                    notification: Array(notification.utf8),
                    type: "application/json",
                    handles: handles
                )
                let answer = try await hub.call(
                    .post,
                    "/default/messages/$batch?direct",
                    body: String(decoding: body.bytes(boundary: body.boundary), as: UTF8.self),
                    headers: self.headers(format, ["Content-Type": "multipart/mixed; boundary=\"\(body.boundary)\""])
                )
                #expect(answer.status == 201, "\(format): \(answer.status) \(answer.text)")
                #expect(
                    try await hub.send(of: answer).audience
                        == .list(RecipientCount(kind: .handles, given: 1000, count: 1000))
                )
            }
        }
    }

    @Test("What would reach others than the caller means is refused: a batch to tags, a scheduled send to a handle")
    func mixedAudiences() async throws {
        try await HubHarness.run { hub in
            let start = String(Timestamp.now.advanced(by: .seconds(3600)).iso8601.prefix(19))
            let schedule = ["ServiceBusNotification-ScheduleTime": start]
            let handle = ["ServiceBusNotification-DeviceHandle": HubHarness.token]
            for (path, more, word) in [
                ("schedulednotifications", schedule.merging(handle) { $1 }, "DeviceHandle"),
                ("schedulednotifications?direct", schedule, "DeviceHandle"),
                ("schedulednotifications?test", schedule, "test"),
                ("messages/$batch?direct&test", [:], "test"), ("messages?direct&test", handle, "test"),
                ("messages?test", handle, "test"),
                ("messages?direct", handle.merging(["ServiceBusNotification-Tags": "a"]) { $1 }, "Tags"),
                ("messages", handle.merging(["ServiceBusNotification-Tags": ""]) { $1 }, "Tags"),
                ("messages/$batch?direct", handle, "DeviceHandle"),
                ("messages/$batch?direct", ["ServiceBusNotification-Tags": "a"], "Tags"),
            ] {
                let answer = try await hub.call(
                    .post,
                    "/default/\(path)",
                    body: Self.apple,
                    headers: self.headers("apple", more)
                )
                #expect(answer.status == 400 && answer.text.contains(word), "\(path): \(answer.status) \(answer.text)")
            }
        }
    }

    @Test("A repeated request is one send; the same tracking id with another content is another")
    func idempotent() async throws {
        try await HubHarness.run { hub in
            let headers = self.headers("apple", ["TrackingId": "0b7a7a3e-2c7d-4e58-9d0a-0123456789ab"])
            let first = try await hub.call(.post, "/default/messages", body: Self.apple, headers: headers)
            // Tracing gives each attempt a header of its own.
            let traced = headers.merging(["traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]) {
                $1
            }
            let again = try await hub.call(.post, "/default/messages", body: Self.apple, headers: traced)
            #expect(first.status == 201 && again.status == 201)
            #expect(first.header("Location") == again.header("Location"))
            let other = try await hub.call(
                .post,
                "/default/messages",
                body: #"{"aps":{"alert":"y"}}"#,
                headers: headers
            )
            #expect(other.status == 201 && other.header("Location") != first.header("Location"))
        }
    }

    @Test("A scheduled send waits, says so, and is cancelled")
    func scheduled() async throws {
        try await HubHarness.run { hub in
            let start = Timestamp.now.advanced(by: .seconds(3600)).iso8601.prefix(19)
            let answer = try await hub.call(
                .post,
                "/default/schedulednotifications/?api-version=2020-06",
                body: Self.apple,
                headers: self.headers("apple", ["ServiceBusNotification-ScheduleTime": String(start)])
            )
            #expect(
                answer.status == 201 && answer.header("Location")?.contains("/default/schedulednotifications/") == true
            )
            let job = try await hub.job(of: answer)
            #expect(job.state == .scheduled && job.startsAt?.iso8601.hasPrefix(start) == true)
            let telemetry = try await hub.call(.get, "/default/messages/\(job.id)")
            #expect(try telemetry.element("State") == "Scheduled")
            for _ in 0..<2 {
                #expect(try await hub.call(.delete, "/default/schedulednotifications/\(job.id)").status == 200)
            }
            #expect(try await hub.call(.get, "/default/messages/\(job.id)").element("State") == "Canceled")
            #expect(try await hub.call(.delete, "/default/schedulednotifications/\(JobID.make())").status == 404)
            let wrong = try await hub.call(
                .post,
                "/default/schedulednotifications",
                body: Self.apple,
                headers: self.headers("apple", ["ServiceBusNotification-ScheduleTime": "tomorrow"])
            )
            #expect(wrong.status == 400 && wrong.text.contains("ScheduleTime"))
        }
    }

    @Test("Telemetry is there at once, with the notification and its tags; of another id it is 404")
    func telemetry() async throws {
        try await HubHarness.run { hub in
            let sent = try await hub.call(
                .post,
                "/default/messages",
                body: Self.apple,
                headers: self.headers("apple", ["ServiceBusNotification-Tags": "a"])
            )
            let id = try await hub.job(of: sent).id
            let answer = try await hub.call(.get, "/default/messages/\(id)?api-version=2016-07", as: "Send")
            #expect(answer.status == 200 && answer.header("Content-Type") == "application/xml; charset=utf-8")
            let details = try XMLReader.read(answer.bytes)
            #expect(
                details.elements.map(\.name) == [
                    "NotificationId", "Location", "State", "EnqueueTime", "NotificationBody", "Tags", "TargetPlatforms",
                ]
            )
            #expect(try answer.element("State") == "Enqueued")
            #expect(try answer.element("NotificationBody") == Self.apple)
            #expect(try answer.element("Tags") == "a")
            #expect(try answer.element("TargetPlatforms") == "apple")
            for wrong in ["x", JobID.make().description] {
                #expect(try await hub.call(.get, "/default/messages/\(wrong)").status == 404)
            }
        }
    }

    @Test("What cannot be sent is 400 that names it")
    func refusals() async throws {
        try await HubHarness.run { hub in
            for (format, body, word) in [
                ("", Self.apple, "Format"), ("template", "[]", "object"), ("adm", "{}", "adm"),
                ("baidu", "{}", "baidu"), ("browser", "{}", "payload"),
                ("windowsphone", "<x/>", "windowsphone"), ("xiaomi", "{}", "xiaomi"), ("fcm", "{}", "fcm"),
                ("apple", "{", "JSON"), ("apple", "{}", "aps"),
                ("apple", #"{"aps":{"alert":"\#(String(repeating: "x", count: 5000))"}}"#, "4096"),
                ("fcmv1", #"{"data":{}}"#, "message"),
                ("fcmv1", #"{"message":{"token":"x"}}"#, "token"), ("windows", "{", "toast"),
            ] {
                let answer = try await hub.call(.post, "/default/messages", body: body, headers: self.headers(format))
                #expect(
                    answer.status == 400 && answer.text.contains(word),
                    "\(format): \(answer.status) \(answer.text)"
                )
            }
        }
    }
}
