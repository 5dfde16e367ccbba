import AsyncHTTPClient
import Foundation
import NIOCore
import PushModel
import Testing
import Undisturbed

@testable import PushlineSimulator

@Suite("Faults", .timeLimit(.minutes(5)), .undisturbed)
struct FaultTests {
    static let message = #"{"message":{"token":"device-1","data":{"message":"hello"}}}"#

    @Test(arguments: SimulatedService.apns.answers.statuses.sorted { $0.key < $1.key })
    func everyAPNsReasonHasItsStatus(reason: String, status: Int) throws {
        var state = SimulatorState(keep: 1)
        _ = state.add(SimulatorFault(.answer(reason: reason)))
        #expect(state.takeFault(for: .apns, token: "t").count == 1)
        #expect(FaultAnswers.status(of: reason, for: .apns) == status)
    }

    @Test func unregisteredHasATimestamp() async throws {
        try await withClient { client in
            let fault = SimulatorFault(.answer(reason: "Unregistered", timestamp: 1_790_000_000_123), pns: .apns)
            client.simulator.inject(fault)
            let reply = try await client.push(authorization: try await client.providerToken())
            #expect(reply.status == 410)
            #expect(reply.reason == "Unregistered")
            #expect(reply.json["timestamp"] as? Int == 1_790_000_000_123)
            let counts = client.simulator.counts.apns
            #expect(counts.accepted == 0)
            #expect(counts.reasons["Unregistered"] == 1)
        }
    }

    @Test func retryAfterHasBothForms() async throws {
        try await withClient { client in
            client.simulator.inject(SimulatorFault(.answer(status: 503, retryAfter: .seconds(3)), count: 1))
            client.simulator.inject(SimulatorFault(.answer(status: 429, retryAfter: .date(seconds: 60)), count: 1))
            let token = try await client.providerToken()
            let first = try await client.push(authorization: token)
            #expect(first.status == 503)
            #expect(first.reason == "ServiceUnavailable")
            #expect(first.headers["retry-after"] == "3")
            let second = try await client.push(authorization: token)
            #expect(second.reason == "TooManyRequests")
            let date = try #require(second.headers["retry-after"])
            #expect(date.hasSuffix(" GMT"))
            #expect(date.count == "Sun, 06 Nov 1994 08:49:37 GMT".count)
            #expect(try await client.push(authorization: token).status == 200, "both are used up")
        }
    }

    @Test func fcmErrorsHaveADetail() async throws {
        try await withClient { client in
            let token = try await client.fcmToken()
            let cases: [(String, Int, String, String?)] = [
                ("UNREGISTERED", 404, "NOT_FOUND", "UNREGISTERED"),
                ("SENDER_ID_MISMATCH", 403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH"),
                ("QUOTA_EXCEEDED", 429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"),
                ("UNAVAILABLE", 503, "UNAVAILABLE", "UNAVAILABLE"),
                ("INTERNAL", 500, "INTERNAL", "INTERNAL"),
                ("NOT_FOUND", 404, "NOT_FOUND", nil),
                ("UNAUTHENTICATED", 401, "UNAUTHENTICATED", nil),
            ]
            for (reason, code, status, detail) in cases {
                client.simulator.inject(SimulatorFault(.answer(reason: reason), pns: .fcm, count: 1))
                let reply = try await client.message(Self.message, authorization: token)
                #expect(reply.status == code)
                let error = try #require(reply.json["error"] as? [String: Any])
                #expect(error["status"] as? String == status)
                let details = error["details"] as? [[String: Any]]
                #expect(details?.first?["errorCode"] as? String == detail)
            }
        }
    }

    @Test func wnsDropsAndThrottlesWithStatus200() async throws {
        try await withClient { client in
            let token = try #require(try await client.wnsToken().json["access_token"] as? String)
            client.simulator.inject(SimulatorFault(.answer(reason: "dropped"), token: "channel-1", count: 1))
            client.simulator.inject(
                SimulatorFault(
                    .answer(reason: "channelthrottled", retryAfter: .seconds(9)),
                    token: "channel-1",
                    count: 1
                )
            )
            client.simulator.inject(SimulatorFault(.answer(reason: "DomainBlocked"), token: "channel-1", count: 1))
            client.simulator.inject(SimulatorFault(.answer(status: 406, retryAfter: .seconds(5)), token: "channel-1"))
            let dropped = try await client.toast(authorization: token)
            #expect(dropped.status == 200)
            #expect(dropped.headers["x-wns-status"] == "dropped")
            let throttled = try await client.toast(authorization: token)
            #expect(throttled.headers["x-wns-status"] == "channelthrottled")
            #expect(throttled.headers["x-wns-continue-after"] == "9")
            let blocked = try await client.toast(authorization: token)
            #expect(blocked.status == 410)
            #expect(blocked.headers["x-wns-error-description"] == "DomainBlocked")
            let busy = try await client.toast(authorization: token)
            #expect(busy.status == 406)
            #expect(busy.headers["retry-after"] == "5")
            #expect(try await client.toast(channel: "channel-2", authorization: token).status == 200)
            #expect(client.simulator.counts.wns.accepted == 1)
        }
    }

    @Test func faultsHitTheirTokenOnly() async throws {
        try await withClient { client in
            let other = String(repeating: "cd", count: 32)
            client.simulator.inject(SimulatorFault(.answer(reason: "BadDeviceToken"), pns: .apns, token: "ABAB"))
            let token = try await client.providerToken()
            #expect(try await client.push(authorization: token).status == 400)
            #expect(try await client.push(token: other, authorization: token).status == 200)
            let access = try await client.fcmToken()
            #expect(try await client.message(Self.message, authorization: access).status == 200)
            client.simulator.clearFaults()
            #expect(try await client.push(authorization: token).status == 200)
        }
    }

    @Test func aFaultHitsItsShareOfRequests() {
        var state = SimulatorState(keep: 1)
        _ = state.add(SimulatorFault(.reset, share: 0.25))
        let hits = (0..<4000).count { _ in !state.takeFault(for: .fcm, token: "t").isEmpty }
        #expect((850...1150).contains(hits))
    }

    @Test func aDelayPrecedesAnotherFault() {
        var state = SimulatorState(keep: 1)
        _ = state.add(SimulatorFault(.delay, latency: 20))
        _ = state.add(SimulatorFault(.silence, count: 1))
        _ = state.add(SimulatorFault(.reset))
        #expect(state.takeFault(for: .fcm, token: "t").map(\.action) == [.delay, .silence])
        #expect(state.takeFault(for: .fcm, token: "t").map(\.action) == [.delay, .reset])
    }

    @Test func latencyDelaysTheAnswer() async throws {
        try await withClient { client in
            client.simulator.inject(SimulatorFault(.delay, latency: 300))
            let token = try await client.providerToken()
            let start = ContinuousClock.now
            #expect(try await client.push(authorization: token).status == 200)
            #expect(ContinuousClock.now - start >= .milliseconds(290))
        }
    }

    @Test func silencedRequestsAreNeverAnswered() async throws {
        try await withClient { client in
            client.simulator.inject(SimulatorFault(.silence, count: 2))
            let token = try await client.providerToken()
            let url = try client.simulator.urls.apns + Client.rawPath
            let headers = try client.rawHeaders(token)
            await #expect(throws: HTTPClientError.self) {
                try await client.send("POST", url, headers: headers, body: Client.rawBody, timeout: .seconds(2))
            }
            let access = try #require(try await client.wnsToken().json["access_token"] as? String)
            let channel = try client.simulator.urls.wnsChannel + "c"
            await #expect(throws: HTTPClientError.self) {
                try await client.send(
                    "POST",
                    channel,
                    headers: [
                        ("Authorization", "Bearer " + access), ("X-WNS-Type", "wns/badge"),
                        ("Content-Type", "text/xml"),
                    ],
                    body: "<badge/>",
                    timeout: .seconds(2)
                )
            }
            #expect(client.simulator.received().map(\.status) == [0, 0])
            #expect(client.simulator.received().map(\.reason) == ["silence", "silence"])
        }
    }

    @Test func swallowedRequestsAreAcceptedAndNotAnswered() async throws {
        try await withClient { client in
            client.simulator.inject(SimulatorFault(.swallow))
            let (provider, access) = (try await client.providerToken(), try await client.fcmToken())
            let channel = try #require(try await client.wnsToken().json["access_token"] as? String)
            await #expect(throws: (any Error).self) { try await client.push(authorization: provider) }
            await #expect(throws: (any Error).self) { try await client.message(Self.message, authorization: access) }
            await #expect(throws: (any Error).self) { try await client.toast(authorization: channel) }
            client.simulator.clearFaults()
            // The client may have tried again by itself what it thought safe.
            let counts = client.simulator.counts
            for service in [counts.apns, counts.fcm, counts.wns] { #expect(service.accepted >= 1) }
            #expect(try await client.push(authorization: provider).status == 200)
            #expect(client.simulator.counts.apns.accepted == counts.apns.accepted + 1)
        }
    }

    @Test(arguments: [SimulatorFault.Action.reset, .refuse, .close, .goAway()])
    func http1ConnectionsAreCut(action: SimulatorFault.Action) async throws {
        try await withClient { client in
            let access = try #require(try await client.wnsToken().json["access_token"] as? String)
            client.simulator.inject(SimulatorFault(action, pns: .wns))
            await #expect(throws: (any Error).self) { try await client.toast(authorization: access) }
        }
    }

    @Test func connectionFaultsHitNewConnectionsAndAreCounted() async throws {
        try await withClient { client in
            let provider = try await client.providerToken()
            #expect(try await client.push(authorization: provider).status == 200)
            for action in [SimulatorFault.Action.plain, .expiredCertificate] {
                client.simulator.inject(SimulatorFault(action, pns: .wns, count: 1))
            }
            client.simulator.inject(SimulatorFault(.mute, pns: .fcm, count: 1))
            // One after the other: the client tries a connection again.
            #expect(try await client.wnsToken().status == 200)
            let url = try client.simulator.urls.fcm
            await #expect(throws: HTTPClientError.self) {
                try await client.send("GET", url, timeout: .milliseconds(500))
            }
            let reply = try await client.send("GET", try client.simulator.urls.control + "/faults")
            let faults = try #require(JSONSerialization.jsonObject(with: Data(reply.body.utf8)) as? [[String: Any]])
            #expect(faults.map { $0["hits"] as? Int } == [1, 1, 1])
            client.simulator.inject(SimulatorFault(.mute, pns: .apns))
            #expect(try await client.push(authorization: provider).status == 200, "the old connection is as it was")
        }
    }

    @Test func tokenEndpointsFailOnRequest() async throws {
        try await withClient { client in
            client.simulator.inject(
                SimulatorFault(.tokenEndpoint(status: 400, error: "invalid_grant"), pns: .fcm, count: 1)
            )
            client.simulator.inject(SimulatorFault(.tokenEndpoint(status: 500, error: "server_error"), count: 1))
            let first = try await client.exchange(assertion: try await client.assertion())
            #expect(first.status == 400)
            #expect(first.json["error"] as? String == "invalid_grant")
            #expect(try await client.wnsToken().status == 500)
            #expect(try await client.exchange(assertion: try await client.assertion()).status == 200)
            #expect(try await client.wnsToken().status == 200)
            #expect(client.simulator.counts.fcm.accessTokens == 1)
        }
    }

    @Test func invalidRequestsUseUpNoFault() async throws {
        try await withClient { client in
            client.simulator.inject(SimulatorFault(.answer(status: 500), count: 1))
            let token = try await client.providerToken()
            #expect(try await client.push(headers: ["apns-id": "x"], authorization: token).status == 400)
            #expect(try await client.push(authorization: token).status == 500)
            #expect(try await client.push(authorization: token).status == 200)
        }
    }
}
