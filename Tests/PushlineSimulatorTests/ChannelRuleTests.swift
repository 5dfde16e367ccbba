import Foundation
import Testing
import Undisturbed

@testable import PushlineSimulator

@Suite("Rules of APNs' broadcast channels", .undisturbed)
struct ChannelRuleTests {
    private static let bundle = "com.example.pushline"
    private static let update = #"{"aps":{"timestamp":1790000000,"event":"update","content-state":{"gate":7}}}"#

    /// A request about channels, with headers in place of or beside the usual ones; nil = without.
    private static func manage(
        _ client: Client,
        _ method: String,
        _ path: String = "/1/apps/com.example.pushline/channels",
        _ headers: [String: String?] = [:],
        body: String? = nil,
        authorization: String,
        host: String? = nil
    ) async throws -> Client.Reply {
        let all: [String: String?] = ["authorization": "bearer " + authorization].merging(headers) { $1 }
        return try await client.send(
            method,
            (host ?? (try client.simulator.urls.apnsChannels)) + path,
            headers: all.compactMap { name, value in value.map { (name, $0) } },
            body: body
        )
    }

    private static func create(_ client: Client, _ authorization: String, storage: Int = 0) async throws -> String {
        let body = #"{"message-storage-policy": \#(storage), "push-type": "LiveActivity"}"#
        let reply = try await Self.manage(client, "POST", body: body, authorization: authorization)
        #expect(reply.status == 201 && reply.body.isEmpty && reply.headers["apns-request-id"] != nil)
        return try #require(reply.headers["apns-channel-id"])
    }

    private static func broadcast(
        _ client: Client,
        _ channel: String,
        _ headers: [String: String?] = [:],
        path: String = "/4/broadcasts/apps/com.example.pushline",
        body: String = Self.update,
        authorization: String
    ) async throws -> Client.Reply {
        let usual: [String: String?] = [
            "apns-channel-id": channel, "apns-push-type": "liveactivity", "apns-priority": "5", "apns-expiration": "0",
        ]
        let all = usual.merging(headers) { $1 }
        return try await Self.manage(
            client,
            "POST",
            path,
            all,
            body: body,
            authorization: authorization,
            host: try client.simulator.urls.apns
        )
    }

    /// As at Apple, each of the two hosts knows its own paths.
    @Test func channelsAreManagedAtTheirOwnHost() async throws {
        try await withClient { client in
            let token = try await client.providerToken()
            let urls = try client.simulator.urls
            #expect(urls.apnsChannels.hasPrefix("https://127.0.0.1:") && urls.apnsChannels != urls.apns)
            for (host, method, path) in [
                (urls.apns, "GET", "/1/apps/\(Self.bundle)/all-channels"),
                (urls.apns, "POST", "/1/apps/\(Self.bundle)/channels"),
                (urls.apnsChannels, "POST", "/4/broadcasts/apps/\(Self.bundle)"),
                (urls.apnsChannels, "POST", "/3/device/" + Client.deviceToken),
            ] {
                let reply = try await Self.manage(client, method, path, authorization: token, host: host)
                #expect(reply.status == 404 && reply.reason == "BadPath", "\(host) \(path)")
            }
            #expect(client.simulator.counts.apns.accepted == 0)
        }
    }

    @Test func channelsAreMadeReadListedAndRemoved() async throws {
        try await withClient { client in
            let token = try await client.providerToken()
            let (first, second) = (
                try await Self.create(client, token), try await Self.create(client, token, storage: 1)
            )
            #expect(first != second && Data(base64Encoded: first) != nil)
            let id = "2288cf3f-70d8-46a6-97d7-dd5d00867127"
            let read = try await Self.manage(
                client,
                "GET",
                "/1/apps/\(Self.bundle)/channels",
                ["apns-channel-id": second, "apns-request-id": id],
                authorization: token
            )
            #expect(read.status == 200 && read.headers["apns-request-id"] == id)
            #expect(read.json["message-storage-policy"] as? Int == 1)
            #expect(read.json["push-type"] as? String == "LiveActivity")
            let all = "/1/apps/\(Self.bundle)/all-channels"
            let listed = try await Self.manage(client, "GET", all, authorization: token)
            #expect(listed.json["channels"] as? [String] == [first, second])
            let path = "/1/apps/\(Self.bundle)/channels"
            let gone = try await Self.manage(client, "DELETE", path, ["apns-channel-id": first], authorization: token)
            #expect(gone.status == 204)
            for method in ["GET", "DELETE"] {
                let again = try await Self.manage(
                    client,
                    method,
                    path,
                    ["apns-channel-id": first],
                    authorization: token
                )
                #expect(again.status == 400 && again.reason == "ChannelNotRegistered")
            }
            // They are not pushes, and outlive a reset as credentials do.
            #expect(client.simulator.counts.apns.requests == 0)
            client.simulator.reset()
            let left = try await Self.manage(client, "GET", all, authorization: token)
            #expect(left.json["channels"] as? [String] == [second])
        }
    }

    @Test func whatAppleWouldNotManageIsRefused() async throws {
        let path = "/1/apps/\(Self.bundle)/channels"
        let cases: [(method: String, path: String, headers: [String: String?], body: String?, reason: String)] = [
            ("GET", path, [:], nil, "MissingChannelId"),
            ("DELETE", path, ["apns-channel-id": "no base64!"], nil, "BadChannelId"),
            ("GET", path, ["apns-channel-id": String(repeating: "QUJD", count: 50)], nil, "BadChannelId"),
            ("GET", path, ["apns-channel-id": "dHN0LXNyY2gtY2hubA=="], nil, "ChannelNotRegistered"),
            ("GET", path, ["apns-request-id": "1"], nil, "BadMessageId"),
            ("PUT", path, [:], nil, "MethodNotAllowed"),
            ("POST", "/1/apps/\(Self.bundle)/all-channels", [:], nil, "MethodNotAllowed"),
            ("GET", "/1/apps/\(Self.bundle)/channel", [:], nil, "BadPath"),
            ("GET", path + "/dHN0LXNyY2gtY2hubA==", [:], nil, "BadPath"), ("GET", "/", [:], nil, "BadPath"),
            ("GET", "/1/apps/com.example.other/channels", [:], nil, "TopicMismatch"),
            ("GET", "/1/apps/\(Self.bundle).push-type.liveactivity/channels", [:], nil, "TopicDisallowed"),
            ("GET", path, ["authorization": nil], nil, "MissingProviderToken"),
            ("GET", path, ["authorization": "bearer a.b.c"], nil, "InvalidProviderToken"),
            ("POST", path, [:], "{", "BadRequestPayload"), ("POST", path, [:], nil, "BadRequestPayload"),
            ("POST", path, [:], #"{"push-type":"LiveActivity"}"#, "BadRequestParams"),
            ("POST", path, [:], #"{"message-storage-policy":2,"push-type":"LiveActivity"}"#, "BadRequestParams"),
            ("POST", path, [:], #"{"message-storage-policy":0,"push-type":"LiveActivity","x":1}"#, "BadRequestParams"),
            ("POST", path, [:], #"{"message-storage-policy":0}"#, "MissingPushType"),
            ("POST", path, [:], #"{"message-storage-policy":0,"push-type":"alert"}"#, "InvalidPushType"),
        ]
        try await withClient { client in
            let token = try await client.providerToken()
            for item in cases {
                let reply = try await Self.manage(
                    client,
                    item.method,
                    item.path,
                    item.headers,
                    body: item.body,
                    authorization: token
                )
                #expect(reply.reason == item.reason, "\(item)")
                #expect(reply.headers["apns-request-id"] != nil, "\(item)")
            }
        }
    }

    @Test func aBundleIDHasSoManyChannelsAndNoMore() {
        var channels = SimulatedChannels()
        for _ in 0..<SimulatedChannels.maximum { #expect(channels.create(for: "a", storage: 0) != nil) }
        #expect(channels.create(for: "a", storage: 0) == nil)
        #expect(channels.create(for: "b", storage: 0) != nil)
    }

    @Test func pushesToAChannelAreCheckedAndCounted() async throws {
        try await withClient { client in
            let token = try await client.providerToken()
            let (none, latest) = (
                try await Self.create(client, token), try await Self.create(client, token, storage: 1)
            )
            let later = "1990000000"
            for (channel, headers) in [
                (none, [:]), (latest, ["apns-expiration": later]), (latest, ["apns-priority": "1"]),
            ] as [(String, [String: String?])] {
                let reply = try await Self.broadcast(client, channel, headers, authorization: token)
                #expect(reply.status == 200 && reply.body.isEmpty, "\(headers)")
                #expect(reply.headers["apns-request-id"] != nil && reply.headers["apns-unique-id"] != nil)
            }
            let large = #"{"aps":{"timestamp":1,"event":"end"},"x":""#
            let full = large + String(repeating: "x", count: 5120 - large.utf8.count - 2) + #""}"#
            #expect(try await Self.broadcast(client, none, body: full, authorization: token).status == 200)
            #expect(client.simulator.counts.apns.accepted == 4)
            let push = try #require(client.simulator.received(token: none).first)
            #expect(push.body == Self.update && push.headers["apns-channel-id"] == none)

            let cases: [(headers: [String: String?], path: String?, body: String, reason: String)] = [
                (["apns-channel-id": nil], nil, Self.update, "MissingChannelId"),
                (["apns-channel-id": "?"], nil, Self.update, "BadChannelId"),
                (["apns-channel-id": "YQ=="], nil, Self.update, "ChannelNotRegistered"),
                (["apns-push-type": nil], nil, Self.update, "MissingPushType"),
                (["apns-push-type": "alert"], nil, Self.update, "InvalidPushType"),
                (["apns-priority": nil], nil, Self.update, "BadPriority"),
                (["apns-priority": "2"], nil, Self.update, "BadPriority"),
                (["apns-expiration": nil], nil, Self.update, "BadExpirationDate"),
                (["apns-expiration": "soon"], nil, Self.update, "BadExpirationDate"),
                (["apns-expiration": later], nil, Self.update, "BadExpirationDate"),
                (["apns-request-id": "7"], nil, Self.update, "BadMessageId"),
                ([:], "/4/broadcasts/apps/com.example.other", Self.update, "TopicMismatch"),
                ([:], "/4/broadcasts/apps/\(Self.bundle).push-type.liveactivity", Self.update, "TopicDisallowed"),
                ([:], "/4/broadcasts/apps/", Self.update, "BadPath"),
                ([:], nil, "", "PayloadEmpty"), ([:], nil, "{", "BadRequestPayload"), ([:], nil, "{}", "PayloadEmpty"),
                ([:], nil, full + " ", "PayloadTooLarge"),
                ([:], nil, #"{"aps":{"alert":"a"}}"#, "InvalidPushType"),
                (
                    [:], nil,
                    #"{"aps":{"timestamp":1,"event":"start","content-state":{},"alert":{},"attributes-type":"A","attributes":{}}}"#,
                    "InvalidPushType"
                ),
            ]
            for item in cases {
                let reply = try await Self.broadcast(
                    client,
                    none,
                    item.headers,
                    path: item.path ?? "/4/broadcasts/apps/\(Self.bundle)",
                    body: item.body,
                    authorization: token
                )
                #expect(reply.reason == item.reason, "\(item)")
                #expect(reply.status == (item.reason == "PayloadTooLarge" ? 413 : reply.status), "\(item)")
            }
            #expect(client.simulator.counts.apns.requests == 4 + cases.count)

            client.simulator.inject(SimulatorFault(.answer(reason: "FeatureNotEnabled"), count: 1))
            let off = try await Self.broadcast(client, none, authorization: token)
            #expect(off.status == 400 && off.reason == "FeatureNotEnabled")
        }
    }
}
