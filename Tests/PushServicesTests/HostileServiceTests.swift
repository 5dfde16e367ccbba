import PushModel
import PushServices
import PushlineSimulator
import Testing
import Undisturbed

/// What no push service says, and how senders live through it.
@Suite("Hostile services", .timeLimit(.minutes(5)), .undisturbed)
struct HostileServiceTests {
    /// Few seconds for a connection, so that a test need not wait for it.
    private func with(_ body: (Senders) async throws -> Void) async throws {
        try await Senders.with(SimulatorConfiguration(), { $0.connectTimeout = .seconds(2) }, body)
    }

    /// Sends until everything is taken, as the worker does.
    private func expectRecovery(_ senders: Senders, _ pns: PushService) async throws {
        let sender = try senders.sender(pns)
        let end = ContinuousClock.now + .seconds(60)
        var results: [DeviceResult] = []
        while ContinuousClock.now < end {
            results = await sender.send(try senders.batch(pns, 40, from: 100))
            if results.allSatisfy({ $0 == .accepted }) { return }
            try await Task.sleep(for: .milliseconds(100))
        }
        Issue.record("\(results)")
    }

    @Test("after an answer that is not HTTP a push may have been delivered", arguments: Self.services)
    func garbage(pns: PushService) async throws {
        try await self.with { senders in
            senders.simulator.inject(SimulatorFault(.garbage, pns: pns))
            let batch = try senders.batch(pns, 5, time: .seconds(30))
            for result in try await senders.sender(pns).send(batch) {
                switch result {
                case .unanswered, .retry(_, .sender, _, _, nil): break
                default: Issue.record("\(result)")
                }
            }
            #expect(ContinuousClock.now < batch.deadline)
            senders.simulator.clearFaults()
            try await self.expectRecovery(senders, pns)
        }
    }

    static let services = PushService.inService
    static let silences: [SimulatorFault.Action] = [.mute, .plain, .expiredCertificate]

    @Test("pushes to a service without a usable connection are retried", arguments: Self.services, Self.silences)
    func unreachable(pns: PushService, action: SimulatorFault.Action) async throws {
        try await self.with { senders in
            senders.simulator.inject(SimulatorFault(action, pns: pns))
            let batch = try senders.batch(pns, 3, time: .seconds(20))
            for result in try await senders.sender(pns).send(batch) {
                guard case .retry(nil, .sender, false, _, nil) = result else {
                    Issue.record("\(result)")
                    return
                }
            }
            #expect(ContinuousClock.now < batch.deadline)
            senders.simulator.clearFaults()
            try await self.expectRecovery(senders, pns)
        }
    }

    /// As above, but the access token is there and connections are lost: the service itself is what cannot be reached.
    @Test("pushes to a service that lost its connection are retried", arguments: Self.services, Self.silences)
    func lost(pns: PushService, action: SimulatorFault.Action) async throws {
        try await self.with { senders in
            let sender = try senders.sender(pns)
            let service = pns
            #expect(await sender.send(try senders.batch(pns, 1)) == [.accepted])
            senders.simulator.inject(SimulatorFault(.close, pns: service, count: 1))
            senders.simulator.inject(SimulatorFault(action, pns: service))
            guard case .unanswered = await sender.send(try senders.batch(pns, 1))[0] else {
                Issue.record("it was answered")
                return
            }
            let batch = try senders.batch(pns, 3, time: .seconds(20))
            for result in await sender.send(batch) {
                guard case .retry(nil, .sender, false, let reason, nil) = result else {
                    Issue.record("\(result)")
                    return
                }
                #expect(reason.hasPrefix("no connection: "))
            }
            #expect(ContinuousClock.now < batch.deadline)
            senders.simulator.clearFaults()
            try await self.expectRecovery(senders, pns)
        }
    }
}
