import Foundation
import HTTP2Engine
import NIOConcurrencyHelpers
import PushModel
import PushlineSimulator
import Testing
import Undisturbed

@Suite("Connections", .serialized, .undisturbed)
struct ConnectionTests {
    @Test("the peer's stream limit is observed, also after it changes")
    func settings() async throws {
        try await Origin.with { origin in
            origin.simulator.inject(SimulatorFault(.delay, latency: 2))
            #expect(await origin.client.send(origin.batch(50)).accepted == 50)
            origin.simulator.inject(SimulatorFault(.settings(maxConcurrentStreams: 3), count: 1))
            #expect(await origin.client.send(origin.batch(1, from: 50)).accepted == 1)
            // A stream too many would be refused by the simulator.
            #expect(await origin.client.send(origin.batch(100, from: 51)).accepted == 100)
            #expect(origin.simulator.counts.apns.requests == 151)
        }
    }

    @Test("GOAWAY during a batch loses nothing and sends nothing twice", arguments: [false, true])
    func goAway(graceful: Bool) async throws {
        try await Origin.with { origin in
            #expect(await origin.client.send(origin.batch(1, from: 90_000)).accepted == 1)
            origin.simulator.inject(SimulatorFault(.goAway(graceful: graceful), share: 0.02, count: 4))
            let outcomes = await origin.client.send(origin.batch(500))
            #expect(outcomes.accepted == 500)
            #expect(origin.simulator.counts.apns.duplicates == 0)
            #expect(origin.simulator.counts.apns.accepted == 501)
        }
    }

    @Test("a refused stream is sent again")
    func refused() async throws {
        try await Origin.with { origin in
            origin.simulator.inject(SimulatorFault(.refuse, share: 0.2, count: 50))
            #expect(await origin.client.send(origin.batch(500)).accepted == 500)
            #expect(origin.simulator.counts.apns.duplicates == 0)
            #expect(origin.simulator.counts.apns.requests == 550)
        }
    }

    @Test("a stream that is always refused is reported as not processed")
    func alwaysRefused() async throws {
        try await Origin.with { origin in
            origin.simulator.inject(SimulatorFault(.refuse, token: Origin.token(3)))
            let outcomes = await origin.client.send(origin.batch(10))
            #expect(outcomes[3] == .notProcessed(.refused("REFUSED_STREAM")))
            #expect(outcomes.accepted == 9)
        }
    }

    @Test("a reset stream may have been processed")
    func reset() async throws {
        try await Origin.with { origin in
            origin.simulator.inject(SimulatorFault(.reset, token: Origin.token(3)))
            let outcomes = await origin.client.send(origin.batch(10))
            #expect(outcomes[3] == .unanswered(.reset(2)))
            #expect(outcomes.accepted == 9)
            #expect(origin.requestsByToken()[Origin.token(3)] == 1)
        }
    }

    @Test("a cut connection leaves sent requests uncertain; the rest use another, none twice")
    func cut() async throws {
        try await Origin.with { origin in
            #expect(await origin.client.send(origin.batch(1, from: 90_000)).accepted == 1)
            origin.simulator.inject(SimulatorFault(.close, share: 0.02, count: 2))
            let outcomes = await origin.client.send(origin.batch(600))
            #expect(outcomes.unanswered > 0)
            #expect(outcomes.accepted + outcomes.unanswered == 600)
            #expect(origin.requestsByToken().values.allSatisfy { $0 == 1 })
        }
    }

    @Test("an unresponsive connection is closed")
    func lifeless() async throws {
        let adjust: (inout HTTP2Configuration) -> Void = {
            $0.pingAfter = .milliseconds(100)
            $0.pingTimeout = .milliseconds(200)
        }
        try await Origin.with(SimulatorConfiguration(), adjust) { origin in
            // The simulator answers pings: a slow answer is not a dead connection.
            origin.simulator.inject(SimulatorFault(.delay, latency: 700))
            #expect(await origin.client.send(origin.batch(3)).accepted == 3)
        }
    }

    @Test("an idle connection is closed, and opened again when there is work")
    func idle() async throws {
        let counts = NIOLockedValueBox<[Int]>([])
        try await withSimulator { simulator in
            let origin = try Origin(
                simulator,
                { $0.idleTimeout = .milliseconds(100) },
                connectionsChanged: { count in counts.withLockedValue { $0.append(count) } }
            )
            #expect(await origin.client.send(origin.batch(1)).accepted == 1)
            let start = ContinuousClock.now
            while counts.withLockedValue({ $0.last }) != 0, ContinuousClock.now - start < .seconds(8) {
                try await Task.sleep(for: .milliseconds(50))
            }
            #expect(counts.withLockedValue { $0 } == [1, 0])
            #expect(await origin.client.send(origin.batch(1)).accepted == 1)
            await origin.client.close()
        }
    }

    @Test("a refused connection soon returns requests as not processed")
    func nobody() async throws {
        let simulator = Simulator()
        try await simulator.start()
        let origin = try Origin(simulator)
        try await simulator.stop()
        let start = ContinuousClock.now
        let outcomes = await origin.client.send(origin.batch(3))
        #expect(ContinuousClock.now - start < .seconds(20))
        for outcome in outcomes {
            guard case .notProcessed(.noConnection) = outcome else {
                Issue.record("\(outcome)")
                return
            }
        }
        await origin.client.close()
    }

    @Test("the client reconnects when the service is back")
    func reconnect() async throws {
        let first = Simulator()
        try await first.start()
        let origin = try Origin(first)
        #expect(await origin.client.send(origin.batch(10)).accepted == 10)
        let port = try #require(URL(string: try first.urls.apns)?.port)
        try await first.stop()
        let missed = await origin.client.send(origin.batch(10))
        #expect(missed.answered == 0)
        let second = Simulator(SimulatorConfiguration(ports: ["apns": port]))
        try await second.start()
        #expect(await origin.client.send(origin.batch(10)).accepted == 10)
        await origin.client.close()
        try await second.stop()
    }

    @Test("a connection with an untrusted certificate is refused")
    func untrusted() async throws {
        try await Origin.with(SimulatorConfiguration(), { $0.trust = .system }) { origin in
            let outcomes = await origin.client.send(origin.batch(1))
            guard case .notProcessed(.noConnection(let reason)) = outcomes[0] else {
                Issue.record("\(outcomes)")
                return
            }
            #expect(reason.lowercased().contains("certificate"))
        }
    }

    @Test("an answer that is not HTTP/2 closes the connection, and the next one works")
    func garbage() async throws {
        try await Origin.with { origin in
            origin.simulator.inject(SimulatorFault(.garbage, pns: .apns, count: 1))
            let first = await origin.client.send(origin.batch(1, time: .seconds(20)))
            guard case .unanswered(.connectionLost(let reason)) = first[0] else {
                Issue.record("\(first)")
                return
            }
            #expect(reason == "the peer breaks HTTP/2")
            #expect(await origin.client.send(origin.batch(50, from: 1)).accepted == 50)
            #expect(origin.simulator.counts.apns.requests == 51)
        }
    }

    @Test(
        "a service that cannot be spoken to: not processed, also where time ends first, and as good as ever afterwards",
        arguments: [SimulatorFault.Action.mute, .plain, .expiredCertificate],
        [Duration.seconds(3), .seconds(30)]
    )
    func unreachable(action: SimulatorFault.Action, time: Duration) async throws {
        try await Origin.with(SimulatorConfiguration(), { $0.connectTimeout = .seconds(2) }) { origin in
            origin.simulator.inject(SimulatorFault(action, pns: .apns))
            for outcome in await origin.client.send(origin.batch(3, time: time)) {
                guard case .notProcessed(.noConnection) = outcome else {
                    Issue.record("\(outcome)")
                    return
                }
            }
            origin.simulator.clearFaults()
            #expect(await origin.client.send(origin.batch(10)).accepted == 10)
            #expect(origin.simulator.counts.apns.requests == 10)
        }
    }

    @Test("a connection is replaced before its stream ids run out")
    func roll() async throws {
        try await Origin.with(SimulatorConfiguration(), { $0.maximumRequestsPerConnection = 50 }) { origin in
            #expect(await origin.client.send(origin.batch(300)).accepted == 300)
            #expect(origin.simulator.counts.apns.requests == 300)
        }
    }
}
