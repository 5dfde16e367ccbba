import Foundation
import PushModel
import PushlineSimulator
import Testing
import Undisturbed

@testable import PushServices

@Suite("Senders", .serialized, .undisturbed)
struct SenderTests {
    @Test("devices are reached", arguments: PushService.inService)
    func accepted(pns: PushService) async throws {
        try await Senders.with { senders in
            let results = try await senders.sender(pns).send(senders.batch(pns, 300))
            #expect(results == Array(repeating: .accepted, count: 300))
            let counts = senders.simulator.counts[pns]
            #expect(counts.accepted == 300)
            #expect(counts.distinctTokens == 300)
            #expect(counts.accessTokens <= 1)
        }
    }

    @Test("only the given devices are tried, in order")
    func subset() async throws {
        try await Senders.with { senders in
            var batch = try senders.batch(.apns, 10)
            batch.indexes = [7, 2]
            senders.simulator.inject(
                SimulatorFault(.answer(reason: "Unregistered", timestamp: 5), token: try senders.handle(.apns, 2))
            )
            let results = try await senders.sender(.apns).send(batch)
            #expect(
                results == [.accepted, .dead(before: Timestamp(milliseconds: 5), reason: "Unregistered", status: 410)]
            )
            #expect(senders.simulator.counts.apns.requests == 2)
        }
    }

    @Test("APNs' headers")
    func apnsHeaders() async throws {
        try await Senders.with { senders in
            var batch = try senders.batch(.apns, 1)
            batch.keepUntil = Timestamp.now.advanced(by: .seconds(3600))
            batch.collapse = "score"
            batch.priority = .low
            #expect(try await senders.sender(.apns).send(batch) == [.accepted])
            let headers = try #require(senders.simulator.received().last?.headers)
            #expect(headers["apns-push-type"] == "alert")
            #expect(headers["apns-priority"] == "5")
            #expect(headers["apns-collapse-id"] == "score")
            #expect(headers["apns-expiration"] == "\(try #require(batch.keepUntil).seconds)")
            #expect(headers["apns-id"] == batch.job.notificationID(row: 1).description)
            #expect(headers["authorization"]?.hasPrefix("bearer ") == true)

            batch.payload = NativePayload(kind: .background, body: Array(#"{"aps":{"content-available":1}}"#.utf8))
            batch.keepUntil = .now
            batch.collapse = nil
            batch.priority = .high
            #expect(try await senders.sender(.apns).send(batch) == [.accepted])
            let silent = try #require(senders.simulator.received().last?.headers)
            #expect(silent["apns-push-type"] == "background")
            #expect(silent["apns-priority"] == "5")
            #expect(silent["apns-expiration"] == "0")
            #expect(silent["apns-collapse-id"] == nil)
        }
    }

    @Test("a collapse key that cannot be a header is rejected")
    func hostileCollapse() async throws {
        try await Senders.with { senders in
            var batch = try senders.batch(.apns, 2)
            batch.collapse = "a\r\napns-topic: other"
            let results = try await senders.sender(.apns).send(batch)
            for result in results {
                guard case .rejected(let reason, nil) = result else {
                    Issue.record("\(result)")
                    return
                }
                #expect(reason.contains("apns-collapse-id"))
            }
            #expect(senders.simulator.counts.apns.requests == 0)
        }
    }

    @Test("hostile handles are escaped and affect only their own result")
    func hostileHandles() async throws {
        try await Senders.with { senders in
            let handles = [#"a"},"topic":"all"#, #"b\"#, "c\u{1}", "d\r\nx: y", "fine"]
            let results = try await senders.sender(.fcm).send(senders.batch(.fcm, handles: handles))
            #expect(results[4] == .accepted)
            for push in senders.simulator.received() {
                let json = try JSONSerialization.jsonObject(with: Data(push.body.utf8)) as? [String: Any]
                let message = try #require(json?["message"] as? [String: Any])
                #expect(handles.contains(try #require(message["token"] as? String)))
                #expect(message["topic"] == nil)
            }
            let paths = ["../../x", "a b", "a\r\nb", "zz?"]
            let apns = try await senders.sender(.apns).send(senders.batch(.apns, handles: paths))
            #expect(!apns.contains(.accepted))
            let channels = [
                "https://example.com/", "https://evil.com/x.notify.windows.com", "file:///etc/passwd", "x\r\ny",
            ]
            let wns = try await senders.sender(.wns).send(senders.batch(.wns, handles: channels))
            #expect(wns == Array(repeating: .rejected(reason: "the channel is not WNS' own", status: nil), count: 4))
        }
    }

    struct Fault: Sendable {
        let pns: PushService
        let fault: SimulatorFault.Action
        let expected: DeviceResult
    }

    static let faults: [Fault] = [
        Fault(
            pns: .apns,
            fault: .answer(reason: "ServiceUnavailable", retryAfter: .seconds(3)),
            expected: .retry(
                after: .seconds(3),
                scope: .sender,
                counts: true,
                reason: "ServiceUnavailable",
                status: 503
            )
        ),
        Fault(
            pns: .apns,
            fault: .answer(reason: "TooManyRequests"),
            expected: .retry(after: nil, scope: .device, counts: true, reason: "TooManyRequests", status: 429)
        ),
        Fault(
            pns: .apns,
            fault: .answer(reason: "TopicDisallowed"),
            expected: .misconfigured(reason: "TopicDisallowed", status: 400)
        ),
        // The token is young: a new one would not help.
        Fault(
            pns: .apns,
            fault: .answer(reason: "ExpiredProviderToken"),
            expected: .misconfigured(reason: "ExpiredProviderToken", status: 403)
        ),
        Fault(pns: .apns, fault: .reset, expected: .unanswered(reason: "stream reset (2)")),
        Fault(
            pns: .apns,
            fault: .refuse,
            expected: .retry(
                after: nil,
                scope: .sender,
                counts: false,
                reason: "refused: REFUSED_STREAM",
                status: nil
            )
        ),
        Fault(
            pns: .fcm,
            fault: .answer(reason: "UNAVAILABLE", retryAfter: .seconds(3)),
            expected: .retry(after: .seconds(3), scope: .sender, counts: true, reason: "UNAVAILABLE", status: 503)
        ),
        Fault(
            pns: .fcm,
            fault: .answer(reason: "NOT_FOUND"),
            expected: .misconfigured(reason: "status 404", status: 404, detail: "A fault on purpose: NOT_FOUND")
        ),
        Fault(
            pns: .wns,
            fault: .answer(reason: "NotAcceptable", retryAfter: .seconds(3)),
            expected: .retry(after: .seconds(3), scope: .sender, counts: true, reason: "", status: 406)
        ),
    ]

    @Test("faults", arguments: SenderTests.faults)
    func fault(test: Fault) async throws {
        try await Senders.with { senders in
            let victim = try senders.handle(test.pns, 1)
            senders.simulator.inject(SimulatorFault(test.fault, token: victim))
            let results = try await senders.sender(test.pns).send(senders.batch(test.pns, 4))
            #expect(results.count { $0 == .accepted } == 3)
            switch (results[1], test.expected) {
            case (
                .retry(let after, let scope, let counts, _, let status),
                .retry(let after2, let scope2, let counts2, "", let status2)
            ):
                #expect(after == after2 && scope == scope2 && counts == counts2 && status == status2)
            default:
                #expect(results[1] == test.expected)
            }
        }
    }

    @Test(
        "a connection that is unfit is replaced, and the device tried once more",
        arguments: ["Shutdown", "UnrelatedKeyIdInToken", "IdleTimeout", "TooManyProviderTokenUpdates"]
    )
    func newConnection(reason: String) async throws {
        try await Senders.with { senders in
            senders.simulator.inject(SimulatorFault(.answer(reason: reason), pns: .apns, count: 2))
            let results = try await senders.sender(.apns).send(senders.batch(.apns, 5))
            #expect(results == Array(repeating: .accepted, count: 5))
            #expect(senders.simulator.counts.apns.requests == 7)
        }
    }

    @Test("a provider token of a wrong clock is replaced once the clock is set right", arguments: [-86_400, 3600])
    func providerTokenOfAWrongClock(seconds: Int) async throws {
        try await Senders.with { senders in
            let sender = try #require(try senders.sender(.apns) as? APNsSender)
            _ = try sender.token?.token(wall: .now.advanced(by: .seconds(seconds)))
            #expect(try await sender.send(senders.batch(.apns, 3)) == Array(repeating: .accepted, count: 3))
            #expect(senders.simulator.counts.apns.requests == 6)
        }
    }

    @Test("a refused access token is replaced once", arguments: [PushService.fcm, .wns])
    func refresh(pns: PushService) async throws {
        try await Senders.with { senders in
            let sender = try senders.sender(pns)
            #expect(try await sender.send(senders.batch(pns, 2)) == [.accepted, .accepted])
            senders.simulator.revokeAccessTokens()
            let results = try await withThrowingTaskGroup(of: [DeviceResult].self) { group in
                for number in 1...5 {
                    let batch = try senders.batch(pns, 10, from: number * 100)
                    group.addTask { await sender.send(batch) }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(results == Array(repeating: .accepted, count: 50))
            #expect(senders.simulator.counts[pns].accessTokens == 2)
        }
    }

    @Test("a second refusal of a fresh token stops the sender", arguments: [PushService.fcm, .wns])
    func refusedTwice(pns: PushService) async throws {
        try await Senders.with { senders in
            senders.simulator.inject(SimulatorFault(.answer(status: 401), pns: pns))
            let results = try await senders.sender(pns).send(senders.batch(pns, 1))
            guard case .misconfigured(_, 401, _) = results[0] else {
                Issue.record("\(results)")
                return
            }
            #expect(senders.simulator.counts[pns].accessTokens == 2)
            #expect(senders.simulator.counts[pns].requests == 2)
        }
    }

    @Test(
        "a token service that refuses stops the sender; one that fails delays it",
        arguments: [PushService.fcm, .wns]
    )
    func tokenService(pns: PushService) async throws {
        try await Senders.with { senders in
            senders.simulator.inject(
                SimulatorFault(.tokenEndpoint(status: 400, error: "invalid_grant"), pns: pns == .fcm ? .fcm : .wns)
            )
            let results = try await senders.sender(pns).send(senders.batch(pns, 2))
            let expected = DeviceResult.misconfigured(reason: "token service: invalid_grant", status: nil)
            #expect(results == [expected, expected])
        }
        try await Senders.with { senders in
            senders.simulator.inject(
                SimulatorFault(.tokenEndpoint(status: 503, error: ""), pns: pns == .fcm ? .fcm : .wns)
            )
            let results = try await senders.sender(pns).send(senders.batch(pns, 1))
            guard case .retry(_, .sender, false, _, 503) = results[0] else {
                Issue.record("\(results)")
                return
            }
        }
    }

    @Test("a send ends before its deadline though a service is silent", arguments: PushService.inService)
    func deadline(pns: PushService) async throws {
        try await Senders.with { senders in
            senders.simulator.inject(SimulatorFault(.silence, token: try senders.handle(pns, 1)))
            let batch = try senders.batch(pns, 3, time: .seconds(2))
            let results = try await senders.sender(pns).send(batch)
            #expect(ContinuousClock.now <= batch.deadline)
            #expect(results[0] == .accepted)
            guard case .unanswered = results[1] else {
                Issue.record("\(results[1])")
                return
            }
        }
    }

    @Test("a stopped batch leaves the rest unsent", arguments: PushService.inService)
    func stop(pns: PushService) async throws {
        try await Senders.with(SimulatorConfiguration(apnsStreams: 5, fcmStreams: 5)) { senders in
            senders.simulator.inject(SimulatorFault(.delay, latency: 50))
            let sender = try senders.sender(pns)
            let start = ContinuousClock.now
            let results = await sender.send(
                try senders.batch(pns, 3000) { ContinuousClock.now - start > .milliseconds(700) }
            )
            let unsent = results.count { $0 == .unsent }
            #expect(unsent > 0)
            #expect(unsent + results.count { $0 == .accepted } == 3000)
        }
    }

    @Test("an unreachable service is retried and the try does not count", arguments: PushService.inService)
    func absent(pns: PushService) async throws {
        let simulator = Simulator(
            SimulatorConfiguration(folder: NSTemporaryDirectory() + "absent-\(UUID().uuidString)")
        )
        try await simulator.start()
        let folder = try simulator.credentials.folder
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let senders = try Senders(simulator)
        let sender = try senders.sender(pns)
        let batch = try senders.batch(pns, 2)
        try await simulator.stop()
        for result in await sender.send(batch) {
            guard case .retry(_, .sender, false, _, nil) = result else {
                Issue.record("\(result)")
                continue
            }
        }
        await senders.registry.close()
    }
}
