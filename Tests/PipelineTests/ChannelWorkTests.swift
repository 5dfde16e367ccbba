import Hub
import NIOConcurrencyHelpers
import PushModel
import PushServices
import PushlineSimulator
import Store
import Testing
import Undisturbed

@testable import Pipeline

/// Broadcast channels by register jobs, at a simulated Apple.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct ChannelWorkTests {
    /// Runs a register worker and a sweeper beside `body`.
    private static func with(
        _ body: @Sendable @escaping (PipelineHarness, APNsChannels) async throws -> Void
    ) async throws {
        try await PipelineHarness.with([.sweeper]) { harness in
            let clients = APNsChannelClients(logger: harness.logger)
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

    /// Apple's refusal is committed before the job ends: a worker that dies between the two has made no channel.
    @Test func aCreationThatAppleRefusesIsKnownAsThat() async throws {
        try await Self.with { harness, _ in
            harness.simulator.inject(
                SimulatorFault(.answer(reason: "FeatureNotEnabled"), token: "channels", count: 1)
            )
            let refused = try await Self.run(.create(.nothing), harness)
            #expect(refused.state == .abandoned && refused.reason?.contains("FeatureNotEnabled") == true)
            let calls = try await harness.store.hubCalls(of: refused.id, app: .default, limit: 1)
            #expect(calls.map(\.state) == [.refused])
        }
    }

    /// What Apple said is not thrown away, however long the store cannot commit.
    @Test func anAnswerIsKeptUntilTheStoreTakesIt() async throws {
        try await PipelineHarness.with([]) { harness in
            harness.simulator.inject(
                SimulatorFault(.answer(reason: "ServiceUnavailable"), token: "channels", count: 1)
            )
            let request = ChannelRequest(.create(.nothing))
            let job = try await harness.accept(.register(.channel(request)))
            let store = LockedStore(base: harness.store)
            let clients = APNsChannelClients(logger: harness.logger)
            let work = ChannelWork(
                clients: clients,
                store: store,
                breakers: Breakers(Breaker.Configuration(), logger: harness.logger),
                logger: harness.logger
            )
            let spec = try #require(try await harness.store.app(.default))
            let impatient = StoreRetry(logger: harness.logger, limit: .zero)
            await #expect(throws: HubError.self) { try await work.result(of: request, for: job, spec: spec, impatient) }
            #expect(store.refusals == LockedStore.most)
            let calls = try await harness.store.hubCalls(of: job.id, app: .default, limit: 1)
            #expect(calls.map(\.state) == [.waiting])
            await clients.close()
        }
    }

    @Test func aDeletionWhoseAnswerIsLostIsDone() async throws {
        try await Self.with { harness, channels in
            let channel = try await channels.create(.nothing)
            harness.simulator.inject(SimulatorFault(.swallow, token: "channels", count: 1))
            #expect(try await Self.run(.delete(channel), harness).result == .done)
            #expect(try await channels.all().isEmpty)
            #expect(try await Self.run(.delete(channel), harness).result == .notFound)
        }
    }

    /// A few requests wait for an Apple that is silent; the others, and registrations, do not.
    @Test func aSilentAppleHoldsUpNoRegistration() async throws {
        try await Self.with { harness, _ in
            harness.simulator.inject(SimulatorFault(.silence, token: "channels"))
            var lists: [JobID] = []
            for _ in 0..<70 {
                let job = try await harness.accept(.register(.channel(ChannelRequest(.list(after: nil, limit: 1)))))
                try await harness.publish(job)
                lists.append(job.id)
            }
            let ann = try UserName("ann", .folded)
            let device = try await harness.accept(.register(.issue(candidate: .random(), handles: [])), user: ann)
            try await harness.publish(device)
            #expect(try await harness.wait(for: device.id, within: .seconds(8)).state == .completed)
            var waiting = 0
            for id in lists where try await harness.job(id).reason?.contains("are under way") == true { waiting += 1 }
            #expect((1...66).contains(waiting))
        }
    }

    @Test func anAppleThatFailsIsLeftAlone() async throws {
        try await Self.with { harness, _ in
            harness.simulator.inject(SimulatorFault(.answer(reason: "ServiceUnavailable"), token: "channels"))
            for _ in 0..<8 {
                let job = try await harness.accept(.register(.channel(ChannelRequest(.list(after: nil, limit: 1)))))
                try await harness.publish(job)
            }
            var last: Job?
            for _ in 0..<1200 where last == nil {
                let jobs = try await harness.store.jobs(JobQuery(app: .default)).items
                last = jobs.first { $0.reason?.contains(" fails: ") == true }
                try await Task.sleep(for: .milliseconds(25))
            }
            // It is well again, and is asked when the breaker's pause is over.
            let waiting = try #require(last)
            harness.simulator.clearFaults()
            #expect(try await harness.wait(for: waiting.id).result == .channels([], hasMore: false))
        }
    }

    @Test func credentialsThatCannotBeReadAreNamedWithoutTheirFile() async throws {
        try await Self.with { harness, _ in
            var spec = try #require(try await harness.store.app(.default))
            spec.apns?.authentication = .token(.init(keyFile: "/nowhere.p8", keyID: "K", teamID: "T"))
            _ = try await harness.store.apply(.app(.default, spec))
            let done = try await Self.run(.create(.nothing), harness)
            #expect(done.state == .abandoned && done.reason?.contains("cannot be read") == true)
            #expect(done.reason?.contains("nowhere") == false)
            spec.apns = nil
            _ = try await harness.store.apply(.app(.default, spec))
            let none = try await Self.run(.create(.nothing), harness)
            #expect(none.reason?.contains("has no APNs credentials") == true)
        }
    }
}

/// A store that cannot commit the end of a call at first.
private struct LockedStore: HubCallStore {
    /// How often it refuses.
    static let most = 2

    let base: any ResultStore
    private let count = NIOLockedValueBox(0)

    init(base: any ResultStore) { self.base = base }

    var refusals: Int { self.count.withLockedValue(\.self) }

    func beginHubCalls(
        _ calls: [HubCallKey],
        lasting time: Duration,
        isWithdrawn: Bool
    ) async throws -> [HubCallStart] {
        try await self.base.beginHubCalls(calls, lasting: time, isWithdrawn: isWithdrawn)
    }

    func recordHubCalls(_ calls: [HubCallKey], _ fact: HubCallFact) async throws {
        let isRefused = self.count.withLockedValue { count in
            guard count < Self.most else { return false }
            count += 1
            return true
        }
        guard !isRefused else { throw StoreError(.unavailable, "locked") }
        try await self.base.recordHubCalls(calls, fact)
    }

    func takeHubCalls(limit: Int) async throws -> [AskedHubCall] { try await self.base.takeHubCalls(limit: limit) }

    func hubCalls(of job: JobID, app: AppID, limit: Int) async throws -> [HubCall] {
        try await self.base.hubCalls(of: job, app: app, limit: limit)
    }
}
