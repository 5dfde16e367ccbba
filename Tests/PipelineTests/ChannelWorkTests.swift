import Hub
import HubEmbedded
import PushModel
import PushServices
import PushlineSimulator
import Store
import StoreSQLite
import Testing

@testable import Pipeline

/// Broadcast channels by register jobs, at a simulated Apple.
@Suite(.timeLimit(.minutes(2))) struct ChannelWorkTests {
    /// Runs a register worker and a sweeper beside `body`.
    private static func with(
        _ body: @Sendable @escaping (PipelineHarness, APNsChannels) async throws -> Void
    ) async throws {
        try await PipelineHarness.with([.sweeper]) { harness in
            let clients = APNsChannelClients()
            let worker = RegisterWorker(
                hubs: AppHubs(embedded: EmbeddedRegistrations(store: harness.store), wire: harness.wireHub),
                channels: clients,
                store: harness.store,
                apps: harness.apps,
                broker: harness.broker,
                logger: harness.logger
            )
            let spec = try #require(try await harness.store.app(.default)?.apns)
            let channels = try clients.channels(of: spec)
            let service = Task { try await worker.run() }
            let result: Result<Void, any Error>
            do { result = .success(try await body(harness, channels)) } catch { result = .failure(error) }
            service.cancel()
            _ = await service.result
            await clients.close()
            try result.get()
        }
    }

    private static func run(_ action: ChannelRequest.Action, _ harness: PipelineHarness) async throws -> Job {
        let job = try await harness.accept(.register(.channel(ChannelRequest(action))))
        try await harness.publish(job)
        return try await harness.wait(for: job.id)
    }

    @Test func channelsAreMadeListedInPiecesShownAndDeleted() async throws {
        try await Self.with { harness, channels in
            for storage in [BroadcastChannel.Storage.latest, .nothing, .nothing] {
                let made = try await Self.run(.create(storage), harness)
                guard case .channels(let found, false)? = made.result, let channel = found.first else {
                    Issue.record("\(String(describing: made.result))")
                    return
                }
                #expect(made.state == .completed && channel.storage == storage)
                let shown = try await Self.run(.show(channel.id), harness)
                #expect(shown.result == .channels([channel], hasMore: false))
            }
            let all = try await channels.all().sorted { $0.text < $1.text }
            #expect(all.count == 3)
            let first = try await Self.run(.list(after: nil, limit: 2), harness)
            #expect(first.result == .channels(all[..<2].map { BroadcastChannel(id: $0) }, hasMore: true))
            let rest = try await Self.run(.list(after: all[1], limit: 2), harness)
            #expect(rest.result == .channels([BroadcastChannel(id: all[2])], hasMore: false))
            #expect(try await Self.run(.delete(all[0]), harness).result == .done)
            #expect(try await Self.run(.delete(all[0]), harness).result == .notFound)
            #expect(try await Self.run(.show(all[0]), harness).result == .notFound)
        }
    }

    @Test func aCreationWhoseAnswerIsLostIsNotRepeated() async throws {
        try await Self.with { harness, channels in
            harness.simulator.inject(SimulatorFault(.swallow, token: "channels", count: 1))
            let lost = try await Self.run(.create(.nothing), harness)
            #expect(lost.state == .abandoned && lost.reason?.contains("may have been made") == true, "\(lost)")
            #expect(try await channels.all().count == 1)
            // The other actions are repeated.
            harness.simulator.inject(SimulatorFault(.swallow, token: "channels", count: 1))
            guard case .channels(let found, _)? = try await Self.run(.list(after: nil, limit: 10), harness).result
            else {
                Issue.record("no list")
                return
            }
            #expect(found.count == 1)
        }
    }

    @Test func aCreationThatAppleCannotTakeNowWaits() async throws {
        try await Self.with { harness, channels in
            let busy = SimulatorFault.Action.answer(reason: "ServiceUnavailable", retryAfter: .seconds(1))
            harness.simulator.inject(SimulatorFault(busy, token: "channels", count: 1))
            let made = try await Self.run(.create(.nothing), harness)
            #expect(made.state == .completed, "\(made)")
            #expect(try await channels.all().count == 1)
        }
    }

    /// The worker before this one ended between the call and its answer's commit.
    @Test func aCreationOfAWorkerThatDiedIsNotRepeated() async throws {
        try await Self.with { harness, channels in
            let job = try await harness.accept(.register(.channel(ChannelRequest(.create(.nothing)))))
            let call = HubCallKey(job: job.id, pns: .apns, number: 0)
            #expect(try await harness.store.beginHubCalls([call], lasting: .zero, isWithdrawn: false) == [.begun])
            try await harness.publish(job)
            let done = try await harness.wait(for: job.id)
            #expect(done.state == .abandoned && done.reason?.contains("may have been made") == true, "\(done)")
            #expect(try await channels.all().isEmpty)
        }
    }

    @Test func credentialsThatCannotBeReadAreNamedWithoutTheirFile() async throws {
        try await Self.with { harness, _ in
            var spec = try #require(try await harness.store.app(.default))
            spec.apns?.authentication = .token(.init(keyFile: "/nowhere.p8", keyID: "K", teamID: "T"))
            _ = try await harness.store.apply(spec, to: .default)
            let done = try await Self.run(.create(.nothing), harness)
            #expect(done.state == .abandoned && done.reason?.contains("cannot be read") == true)
            #expect(done.reason?.contains("nowhere") == false)
            spec.apns = nil
            _ = try await harness.store.apply(spec, to: .default)
            let none = try await Self.run(.create(.nothing), harness)
            #expect(none.reason?.contains("has no APNs credentials") == true)
        }
    }
}
