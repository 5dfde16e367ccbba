import Foundation
import Logging
import Metrics
import MetricsTestKit
import NIOPosix
import OutgoingHTTP
import PushModel
import PushlineMetrics
import PushlineSimulator
import RawHTTP
import Testing
import Undisturbed

@testable import PushServices
@testable import PushlineSimulator

/// A push service, token service or channel management that stops in the middle.
@Suite("Services that stop", .timeLimit(.minutes(3)), .undisturbed)
struct StoppedServiceTests {
    static let services = PushService.inService

    /// Runs one in the place of a push service of an app; token services are the simulator's.
    private static func with(
        _ pns: PushService,
        _ stop: StoppingPeer.Stop?,
        _ answer: StoppingPeer.Answer,
        timeout: Duration = .milliseconds(400),
        _ body: (Senders, StoppingPeer) async throws -> Void
    ) async throws {
        try await Senders.with(
            SimulatorConfiguration(),
            {
                $0.requestTimeout = timeout
                $0.connectTimeout = timeout / 2
            }
        ) { senders in
            let isHTTP2 = pns == .apns || pns == .fcm
            let tls = try senders.simulator.credentials.keys
                .serverContext(protocols: isHTTP2 ? ["h2"] : ["http/1.1"], takesCertificates: false)
            try await StoppingPeer.run(isHTTP2 ? .http2 : .http1, tls: tls, stopping: stop, answer: { _ in answer }) {
                peer in
                var senders = senders
                senders.spec.apns?.endpoint = "https://127.0.0.1:\(peer.port)"
                senders.spec.fcm?.endpoint = "https://127.0.0.1:\(peer.port)"
                senders.spec.wns?.channelPrefixes = ["https://127.0.0.1:\(peer.port)/"]
                senders.spec.web?.endpointHosts = ["127.0.0.1:\(peer.port)"]
                try await body(senders, peer)
            }
        }
    }

    private static func handle(_ senders: Senders, _ pns: PushService, at peer: StoppingPeer) throws -> String {
        let handle = try senders.handle(pns, 0)
        switch pns {
        case .wns: return "https://127.0.0.1:\(peer.port)/channel"
        case .web:
            let real = try WebPushSubscription(handle: handle)
            let path = real.endpoint.url.dropFirst(real.endpoint.origin.count)
            return WebPushSubscription(
                endpoint: try WebPushEndpoint("https://127.0.0.1:\(peer.port)\(path)"),
                publicKey: real.publicKey,
                authenticationSecret: real.authenticationSecret
            ).handle
        default: return handle
        }
    }

    private static func send(_ senders: Senders, _ pns: PushService, at peer: StoppingPeer) async throws
        -> DeviceResult
    {
        let batch = try senders.batch(pns, handles: [Self.handle(senders, pns, at: peer)], time: .seconds(3))
        let result = try #require(await senders.sender(pns).send(batch).first)
        #expect(ContinuousClock.now < batch.deadline + .seconds(1))
        return result
    }

    @Test("a push ends by its deadline, and one that was accepted is", arguments: services, StoppingPeer.Stop.allCases)
    func push(pns: PushService, stop: StoppingPeer.Stop) async throws {
        let metrics = TestMetrics()
        try await withMetricsFactory(metrics) { try await Self.push(pns, stop, metrics) }
    }

    private static func push(_ pns: PushService, _ stop: StoppingPeer.Stop, _ metrics: TestMetrics) async throws {
        try await Self.with(pns, stop, .init(pns == .web ? 201 : 200)) { senders, peer in
            let result = try await Self.send(senders, pns, at: peer)
            try await Self.expectCounted(pns, stop, metrics)
            switch stop {
            case .settings where pns == .apns || pns == .fcm, .connect, .tls:
                guard case .retry(nil, .sender, false, let reason, nil) = result, reason.hasPrefix("no connection: ")
                else {
                    Issue.record("\(result)")
                    return
                }
            case .settings, .silence, .head: #expect(result == .unanswered(reason: "no answer in time"))
            case .body, .frame, .trailers: #expect(result == .accepted)
            }
            try await peer.heal()
            let end = ContinuousClock.now + .seconds(30)
            var healed = result
            repeat {
                healed = try await Self.send(senders, pns, at: peer)
            } while healed != .accepted
                && ContinuousClock.now < end
            #expect(healed == .accepted)
        }
    }

    /// What stops is counted, with how far it had come.
    private static func expectCounted(_ pns: PushService, _ stop: StoppingPeer.Stop, _ metrics: TestMetrics)
        async throws
    {
        let stage =
            switch stop {
            case .settings where pns == .apns || pns == .fcm, .connect, .tls: "connect"
            case .settings, .silence, .head: "head"
            case .body, .frame, .trailers: "body"
            }
        var counted: [String] {
            metrics.counters(label: MetricDescription.exchangesStopped.name, dimensions: [("peer", pns.rawValue)])
                .filter { $0.totalValue > 0 }.compactMap { $0.dimensions.first { $0.0 == "stage" }?.1 }
        }
        // A device that is accepted already is not kept waiting for what its answer still lacks.
        let end = ContinuousClock.now + .seconds(10)
        while counted.isEmpty, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(5)) }
        #expect(counted == [stage])
    }

    /// What would take the device away, if it were whole.
    private static let deaths: [(PushService, StoppingPeer.Answer)] = [
        (.apns, .init(400, body: #"{"reason":"BadDeviceToken"}"#)),
        (.apns, .init(410, body: #"{"reason":"Unregistered","timestamp":1}"#)),
        (
            .fcm,
            .init(
                404,
                body:
                    #"{"error":{"details":[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"UNREGISTERED"}]}}"#
            )
        ),
        (.web, .init(403, body: "the key do not correspond to the credentials")),
    ]

    @Test("a refusal whose meaning stands in its body takes no device away without it", arguments: deaths.indices)
    func refusal(number: Int) async throws {
        let (pns, answer) = Self.deaths[number]
        for stop in [StoppingPeer.Stop.body, .frame, .trailers] {
            try await Self.with(pns, stop, answer) { senders, peer in
                let result = try await Self.send(senders, pns, at: peer)
                guard case .unanswered = result else {
                    Issue.record("\(stop): \(result)")
                    return
                }
                guard stop == .frame else { return }
                try await peer.heal()
                guard case .dead = try await Self.send(senders, pns, at: peer) else {
                    Issue.record("the test does not show what it should")
                    return
                }
            }
        }
    }

    @Test("a refusal whose meaning stands in its head needs no body", arguments: [PushService.wns, .web])
    func head(pns: PushService) async throws {
        try await Self.with(pns, .frame, .init(410)) { senders, peer in
            guard case .dead(_, "status 410", 410) = try await Self.send(senders, pns, at: peer) else {
                Issue.record("it is not dead")
                return
            }
        }
    }

    /// As a hostile or broken service would have it: 32 connections at a time is all that there is.
    @Test("answers that stop fill no pool")
    func pool() async throws {
        // A busy machine needs more than an instant for so many handshakes at a time.
        try await Self.with(.wns, .frame, .init(200), timeout: .seconds(3)) { senders, peer in
            let handles = Array(repeating: try Self.handle(senders, .wns, at: peer), count: 70)
            let batch = try senders.batch(.wns, handles: handles, time: .seconds(60))
            let results = try await senders.sender(.wns).send(batch)
            #expect(results.allSatisfy { $0 == .accepted })
            try await peer.heal()
            #expect(try await Self.send(senders, .wns, at: peer) == .accepted)
        }
    }

    @Test("a token service that stops takes its time alone", arguments: StoppingPeer.Stop.allCases)
    func token(stop: StoppingPeer.Stop) async throws {
        let grant = StoppingPeer.Answer(200, body: #"{"access_token":"abc","expires_in":3600}"#)
        try await Self.with(.wns, stop, grant) { senders, peer in
            let parts = SenderParts(
                settings: SenderSettings(),
                eventLoopGroup: .singletonMultiThreadedEventLoopGroup,
                logger: .quiet
            )
            let client = parts.httpClient(try senders.simulator.credentials.trustFile)
            let endpoint = TokenEndpoint(
                url: "https://127.0.0.1:\(peer.port)/token",
                client: client,
                peer: parts.peer(.token)
            )
            let start = ContinuousClock.now
            let fault = await #expect(throws: TokenFault.self) {
                try await endpoint.token(form: [], deadline: start + .milliseconds(300))
            }
            #expect(ContinuousClock.now - start < .seconds(1.3))
            guard case .later(nil, let reason, nil) = fault, reason.hasPrefix("token service: ") else {
                Issue.record("\(String(describing: fault))")
                return
            }
            try await peer.heal()
            // What waits behind a connection that is still being made is not begun, and asked again.
            var token: String?
            for _ in 0..<10 where token == nil {
                token = try? await endpoint.token(form: [], deadline: .now + .seconds(30)).text
            }
            #expect(token == "abc")
            await client.close()
        }
    }

    /// Over HTTP/2 a connection outlives its request: one that has stopped is not asked again.
    @Test("channel management that stops is asked again over another connection", arguments: StoppingPeer.Stop.allCases)
    func channels(stop: StoppingPeer.Stop) async throws {
        let answer = StoppingPeer.Answer(
            200,
            [("apns-channel-id", "YQ==")],
            body: #"{"channels":["YQ=="],"message-storage-policy":0}"#
        )
        try await Self.with(.apns, stop, answer) { senders, peer in
            var spec = try #require(senders.spec.apns)
            spec.channelsEndpoint = "https://127.0.0.1:\(peer.port)"
            let channels = try APNsChannels(spec, timeout: .milliseconds(400), logger: .quiet)
            let start = ContinuousClock.now
            let fault = await #expect(throws: APNsChannels.Fault.self) { try await channels.all() }
            #expect(ContinuousClock.now - start < .seconds(1.4))
            #expect(fault?.kind == .unavailable(after: nil), "\(String(describing: fault))")
            try await peer.heal()
            let end = ContinuousClock.now + .seconds(30)
            var found: [APNsChannelID]?
            while found == nil, ContinuousClock.now < end { found = try? await channels.all() }
            #expect(found?.count == 1)
            await channels.close()
        }
    }

    @Test("of a send that was stopped nothing is begun, not even for its token", arguments: services)
    func stopped(pns: PushService) async throws {
        try await Senders.with { senders in
            let batch = try senders.batch(pns, 3) { true }
            let results = try await senders.sender(pns).send(batch)
            #expect(results == [.unsent, .unsent, .unsent])
            #expect(senders.simulator.received().isEmpty)
        }
    }
}
