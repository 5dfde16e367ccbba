import Broker
import HTTPTypes
import PushModel
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

@Suite(.undisturbed) struct QueueTests {
    private static func queue(_ name: String, _ api: Harness, as key: Harness.As) async throws -> JSONValue {
        let list = try await api.call(.get, "/api/queues", as: key)
        return try #require(list.json["items"]?.elements.first { $0["name"]?.text == name })
    }

    @Test(arguments: ["/api/", "/api/apps/default/"]) func aQueueIsPausedAndResumed(prefix: String) async throws {
        try await Harness.run { api async throws in
            let key = try await api.key(.operator)
            #expect(try await Self.queue("deliver.apns", api, as: key)["paused"] == .bool(false))
            for _ in 1...2 {
                let paused = try await api.call(.post, "\(prefix)queues/deliver.apns/pause", as: key)
                #expect(paused.status == 200, "\(paused.text)")
                #expect(paused.json["paused"] == .bool(true))
            }
            #expect(try await api.store.pauses().map(\.app) == [.default])
            let seen = try await Self.queue("deliver.apns", api, as: key)
            #expect(seen["pauses"]?.elements.first?["by"]?.text == "key:backend")
            #expect(seen["pauses"]?.elements.first?["allApps"] == .bool(false))
            #expect(try await Self.queue("deliver.fcm", api, as: key)["paused"] == .bool(false))
            for _ in 1...2 {
                let resumed = try await api.call(.post, "\(prefix)queues/deliver.apns/resume", as: key)
                #expect(resumed.status == 200)
                #expect(resumed.json["paused"] == .bool(false))
            }
            #expect(try await api.store.pauses().isEmpty)
        }
    }

    /// An app's operator neither ends what holds for all apps, nor hears who did it.
    @Test func anAppsOperatorCannotEndAPauseOfAllApps() async throws {
        try await Harness.run { api async throws in
            let key = try await api.key(.operator)
            try await api.store.apply(.pause(.begin(.send, app: nil, by: "host:root")))
            let seen = try await Self.queue("send", api, as: key)
            #expect(seen["paused"] == .bool(true))
            #expect(seen["pauses"]?.elements.first?["allApps"] == .bool(true))
            #expect(seen["pauses"]?.elements.first?["by"] == nil)
            #expect(try await api.call(.post, "/api/queues/send/resume", as: key).status == 409)
            #expect(try await api.store.pauses().count == 1)
        }
    }

    /// The broker's figures are of all apps: an operator of one sees those of its own app alone.
    @Test func anAppsOperatorSeesNothingOfTheBrokersQueues() async throws {
        try await Harness.run { api async throws in
            let key = try await api.key(.operator)
            func list() async throws -> JSONValue {
                let list = try await api.call(.get, "/api/queues", as: key)
                #expect(list.status == 200)
                return list.json
            }
            let items = try #require(try await list()["items"]?.elements)
            #expect(items.compactMap { $0["name"]?.text } == WorkQueue.allCases.map(\.description))
            #expect(items.allSatisfy { $0["broker"] == nil })
            #expect(try await list()["brokerFault"] == nil)
            api.broker.setUnavailable(true)
            #expect(try await list()["brokerFault"]?.text?.hasPrefix("the broker cannot be reached: ") == true)
            api.broker.setUnavailable(false)
            #expect(try await list()["brokerFault"] == nil)
            api.broker.setBlocked("low on disk")
            #expect(try await list()["brokerFault"]?.text?.hasSuffix(": low on disk") == true)
        }
    }

    @Test func bothPausesOfAQueueAreReported() async throws {
        try await Harness.run { api async throws in
            let key = try await api.key(.operator)
            try await api.store.apply(.pause(.begin(.send, app: nil, by: "host:root")))
            #expect(try await api.call(.post, "/api/queues/send/pause", as: key).json["pauses"]?.elements.count == 2)
            let refused = try await api.call(.post, "/api/queues/send/resume", as: key)
            #expect(refused.status == 409)
            #expect(refused.text.contains("own pause is over"))
            let seen = try await Self.queue("send", api, as: key)
            #expect(seen["paused"] == .bool(true))
            #expect(seen["pauses"]?.elements.map { $0["allApps"] } == [.bool(true)])
        }
    }

    @Test func unknownQueuesAndMembersAreRefused() async throws {
        try await Harness.run { api async throws in
            let key = try await api.key(.operator)
            for name in ["dead", "deliver.mpns", "deliver", "send.high", "%00"] {
                #expect(try await api.call(.post, "/api/queues/\(name)/pause", as: key).status == 404)
            }
            #expect(try await api.call(.post, "/api/queues/send/pause?app=other", as: key).wrongMembers == ["app"])
            let body = #"{"allApps": true}"#
            let answer = try await api.call(.post, "/api/queues/send/pause", as: key, body: body)
            #expect(answer.status == 400 && answer.wrongMembers == ["allApps"])
            #expect(try await api.call(.post, "/api/queues/send/resume", as: key, body: "[]").status == 400)
            #expect(try await api.store.pauses().isEmpty)
        }
    }
}
