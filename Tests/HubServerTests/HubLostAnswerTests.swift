import AnswersLost
import HTTPTypes
import HubWire
import HummingbirdTesting
import PushModel
import Store
import Testing
import Undisturbed
import WebServing

/// Official clients repeat what is 503: they are told so only where that does no harm, and else nothing at all.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct HubLostAnswerTests {
    private static let trackingID = ["TrackingId": "0B7A7A3E-2C7D-4E58-9D0A-0123456789AB"]
    private static let format = ["ServiceBusNotification-Format": "apple", "ServiceBusNotification-Tags": "a"]

    /// What creates something, with its headers and its body.
    private static var posts: [(path: String, headers: [String: String], body: String)] {
        let start = WireTime.schedule(Timestamp.now.advanced(by: .seconds(3600)))
        let scheduled = Self.format.merging(["ServiceBusNotification-ScheduleTime": start]) { $1 }
        return [
            ("/default/messages", Self.format, #"{"aps":{}}"#),
            ("/default/schedulednotifications", scheduled, #"{"aps":{}}"#),
            ("/default/registrations", [:], HubHarness.apple()),
        ]
    }

    /// What comes back for a request of the rule Full.
    private static func bytes(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ headers: [String: String] = [:],
        body: String = "",
        _ hub: HubHarness,
        _ server: LostServer
    ) async throws -> String {
        var headers = headers
        headers["Authorization"] = try hub.token(of: "Full", for: path)
        // What the token is for.
        headers["Host"] = "localhost" + (hub.client.port.map { ":\($0)" } ?? "")
        return try await server.bytes(method, path, headers, body: body)
    }

    private static func expectRepetition(_ bytes: String, _ words: String) {
        #expect(bytes.hasPrefix("HTTP/1.1 503 "), "\(words): \(bytes)")
        #expect(bytes.lowercased().contains("\r\nretry-after: 5\r\n"), "\(words): \(bytes)")
        #expect(bytes.contains("may have been done; repeating it is safe"), "\(words): \(bytes)")
    }

    @Test(arguments: [[:], ["TrackingId": "<x>"]])
    func aPOSTThatNothingMakesRepeatableLosesItsConnection(headers: [String: String]) async throws {
        try await HubHarness.run { hub async throws in
            try await AnswersLost(hub.front).serve { server in
                for (index, post) in Self.posts.enumerated() {
                    let headers = headers.merging(post.headers) { $1 }
                    let bytes = try await Self.bytes(.post, post.path, headers, body: post.body, hub, server)
                    #expect(bytes.isEmpty, "\(post.path): \(bytes)")
                    // It was done.
                    #expect(try await hub.store.jobs(JobQuery(app: .default)).items.count == index + 1)
                }
            }
        }
    }

    @Test func aPOSTWithATrackingIDIs503AndItsRepeatTheSameSend() async throws {
        try await HubHarness.run { hub async throws in
            try await AnswersLost(hub.front).serve { server in
                for post in Self.posts {
                    let headers = Self.trackingID.merging(post.headers) { $1 }
                    for _ in 0..<2 {
                        let bytes = try await Self.bytes(.post, post.path, headers, body: post.body, hub, server)
                        Self.expectRepetition(bytes, post.path)
                    }
                }
            }
            #expect(try await hub.store.jobs(JobQuery(app: .default, kind: .send)).items.count == 2)
            let devices = try await hub.call(.get, "/default/registrations")
            #expect(try devices.registrations.count == 1)
        }
    }

    @Test func otherMethodsAre503() async throws {
        try await HubHarness.run { hub async throws in
            let path = "/default/installations/i-1"
            try await AnswersLost(hub.front).serve { server in
                for (method, body) in [
                    (HTTPRequest.Method.put, #"{"platform":"apns","pushChannel":"\#(HubHarness.token)"}"#),
                    (.patch, #"[{"op":"add","path":"/tags/a","value":"a"}]"#), (.delete, ""),
                ] {
                    for _ in 0..<2 {
                        Self.expectRepetition(
                            try await Self.bytes(method, path, body: body, hub, server),
                            method.rawValue
                        )
                    }
                }
            }
            #expect(try await hub.call(.get, path).status == 404)
        }
    }

    /// Only of what may have been done is nothing said.
    @Test func otherRefusalsAreAnswered() async throws {
        try await HubHarness.run { hub async throws in
            try await AnswersLost(hub.front).serve { server in
                let bytes = try await Self.bytes(.post, "/default/messages", body: "{", hub, server)
                #expect(bytes.hasPrefix("HTTP/1.1 400 "), "\(bytes)")
            }
        }
    }
}
