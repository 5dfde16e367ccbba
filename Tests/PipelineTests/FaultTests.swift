import Broker
import Hub
import Logging
import NIOConcurrencyHelpers
import PushModel
import PushServices
import PushlineSimulator
import ServiceLifecycle
import Store
import Testing
import Undisturbed

@testable import Pipeline

/// Faults of one part that must not become faults of another.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct FaultTests {
    @Test func copiesOfAMessageNeitherEndNorRepeatItsJob() async throws {
        try await PipelineHarness.with([.delivery, .sweeper]) { harness in
            try await harness.register("ann", .apns, token(1))
            // The send workers were away for two hours: the sweeper published the job each time its lease lapsed.
            let id = try await harness.send(to: "username:ann")
            let job = try await harness.job(id)
            for _ in 0..<120 { try await harness.publish(job) }
            let worker = SendWorker(
                fanOut: harness.fanOut,
                store: harness.store,
                apps: harness.apps,
                broker: harness.broker,
                logger: harness.logger
            )
            let done = try await beside(worker.run) { try await harness.wait(for: id) }
            #expect(done.state == .completed)
            #expect(done.counts[.apns]?.accepted == 1)
            expectSound(done)
            #expect(harness.simulator.received().count == 1)
        }
    }

    @Test func aRegisterJobWaitsForAHubThatIsAway() async throws {
        try await PipelineHarness.with([.sweeper]) { harness in
            let worker = RegisterWorker(
                hubs: AppHubs(embedded: FaultyRegistrations(store: harness.store), wire: harness.wireHub),
                channels: APNsChannelClients(logger: harness.logger),
                store: harness.store,
                apps: harness.apps,
                broker: harness.broker,
                logger: harness.logger
            )
            let id = RegistrationID.random()
            let job = try await harness.accept(
                .register(.issue(candidate: id, handles: [])),
                user: try UserName("ann", .folded)
            )
            try await harness.publish(job)
            let done = try await beside(worker.run) { try await harness.wait(for: job.id) }
            #expect(done.result == .issued(id))
        }
    }

    @Test(arguments: [(nil, 0), (10, 10), (300, 300), (7 * 86_400, 300)])
    func aHubThatAsksToWaitIsNotAskedBefore(asked: Int?, wait: Int) {
        for (jitter, more) in [(0.0, 0), (1, 5)] {
            let asked = asked.map { Duration.seconds($0) }
            let deferral = RegisterWorker.deferral(asked, WaitReason("busy"), jitter: jitter)
            #expect(deferral.pause == .seconds(wait + more))
        }
    }

    @Test func aHubOverAWireThatGivesNoAnswerIsNotWaitedForByEachChange() async throws {
        try await PipelineHarness.with([.register]) { harness in
            try await harness.declareSilentHub()
            func register(_ count: Int) async throws {
                for _ in 0..<count {
                    let work = Job.Work.register(.issue(candidate: .random(), handles: []))
                    try await harness.publish(try await harness.accept(work, user: try UserName("ann", .folded)))
                }
            }
            try await register(8)
            for _ in 0..<400 where harness.wireHub.changes < 5 { try await Task.sleep(for: .milliseconds(50)) }
            try await Task.sleep(for: .milliseconds(500))
            let failed = harness.wireHub.changes
            // The breaker is open for five seconds from the fifth failure on.
            #expect((5...8).contains(failed))
            try await register(20)
            try await Task.sleep(for: .seconds(2))
            #expect(harness.wireHub.changes <= failed + 1)
        }
    }

    @Test func aSweeperWithoutABrokerDoesNotBlockOthers() async throws {
        try await PipelineHarness.with([.register]) { harness in
            let cutOff = InMemoryBroker()
            cutOff.setUnavailable(true)
            let id = RegistrationID.random()
            let job = try await harness.accept(
                .register(.issue(candidate: id, handles: [])),
                user: try UserName("ann", .folded)
            )
            let done = try await beside(harness.sweeper(fanOut: harness.fanOut, broker: cutOff).run) {
                try await Task.sleep(for: .milliseconds(200))
                return try await beside(harness.sweeper.run) { try await harness.wait(for: job.id) }
            }
            #expect(done.result == .issued(id))
        }
    }

    /// Else the store would be written in a loop without a message.
    @Test func whatAQueueRefusesIsDeferredForAWhile() async throws {
        try await PipelineHarness.with([]) { harness in
            let queue = QueueName.work(.send, .normal)
            harness.broker.setRefusing(queue, retryAfter: .seconds(1))
            _ = try await harness.send(to: "username:ann", isPublished: false)
            try await beside(harness.sweeper.run) {
                for _ in 0..<600 where harness.broker.refused == 0 { try await Task.sleep(for: .milliseconds(50)) }
                // Some fifty sweeps.
                try await Task.sleep(for: .seconds(1))
                #expect((1...2).contains(harness.broker.refused), "\(harness.broker.refused)")
                harness.broker.setRefusing(queue, retryAfter: nil)
                for _ in 0..<600 where harness.broker.ready(in: queue) == 0 {
                    try await Task.sleep(for: .milliseconds(50))
                }
                #expect(harness.broker.ready(in: queue) == 1)
            }
        }
    }

    @Test func unpublishableJobsDoNotDelayBatches() async throws {
        try await PipelineHarness.with([]) { harness in
            try await harness.fanOutUnpublished(to: "username:ann")
            _ = try await harness.send(to: "username:ann", isPublished: false)
            let broker = InMemoryBroker()
            try await broker.declare(
                Topology(queues: [.init(name: QueueName.work(.deliver(.apns), .normal), kind: .exclusive)])
            )
            let fanOut = EmbeddedFanOut(store: harness.store, broker: broker, logger: harness.logger)
            let sweeper = harness.sweeper(fanOut: fanOut, broker: broker)
            // What had no queue is due a second later.
            for _ in 0..<200 where broker.ready(in: QueueName.work(.deliver(.apns), .normal)) == 0 {
                try await Task.sleep(for: .milliseconds(50))
                _ = try await sweeper.sweep()
            }
            #expect(broker.ready(in: QueueName.work(.deliver(.apns), .normal)) == 1)
        }
    }

    @Test func anUnpublishableBatchDoesNotStopJobsFromExpiring() async throws {
        try await PipelineHarness.with([]) { harness in
            try await harness.fanOutUnpublished(to: "username:ann")
            let id = try await harness.send(to: "username:ann", expires: .milliseconds(300), isPublished: false)
            let sweeper = harness.sweeper(fanOut: FaultyFanOut(fanOut: harness.fanOut), broker: harness.broker)
            let done = try await beside(sweeper.run) { try await harness.wait(for: id) }
            #expect(done.state == .expired)
        }
    }

    @Test func aDrainingWorkerFinishesItsRequestsAndBeginsNoMore() async throws {
        try await PipelineHarness.with([.send, .sweeper]) { harness in
            let channels = try harness.simulator.urls.wnsChannel
            for number in 0..<300 { try await harness.register("ann", .wns, "\(channels)\(number)") }
            harness.simulator.inject(SimulatorFault(.delay, pns: .wns, latency: 500))
            let id = try await harness.send(to: "username:ann")
            let (worker, senders) = harness.deliveryWorker()
            let group = ServiceGroup(
                configuration: ServiceGroupConfiguration(
                    services: [.init(service: worker, successTerminationBehavior: .gracefullyShutdownGroup)],
                    logger: harness.logger
                )
            )
            let first = Task { try await group.run() }
            for _ in 0..<500 where harness.simulator.counts.next == 0 { try await Task.sleep(for: .milliseconds(10)) }
            let start = ContinuousClock.now
            await group.triggerGracefulShutdown()
            try await first.value
            // Ten rounds of connections are needed for all.
            #expect(start.duration(to: .now) < .seconds(3))
            await senders.close()
            harness.simulator.clearFaults()
            let (heir, heirSenders) = harness.deliveryWorker()
            let done = try await beside(heir.run) { try await harness.wait(for: id) }
            await heirSenders.close()
            #expect(done.counts[.wns]?.accepted == 300)
            expectSound(done)
            #expect(harness.simulator.received().count == 300)
        }
    }

    @Test func aLostAnswerSendsOneDuplicate() async throws {
        try await PipelineHarness.with { harness in
            let handles = try Simulator.services.map { ($0, try harness.simulator.device("a", of: $0)) }
            for (pns, handle) in handles { try await harness.register("ann", pns, handle) }
            for service in Simulator.services {
                harness.simulator.inject(SimulatorFault(.swallow, pns: service, count: 1))
            }
            let done = try await harness.wait(for: try await harness.send(to: "username:ann"))
            #expect(done.state == .completed)
            for (pns, handle) in handles {
                // Counted once, though the service took it twice.
                #expect(done.counts[pns]?.accepted == 1)
                let statuses = harness.simulator.received(token: handle).map(\.status)
                #expect(statuses == (pns == .web ? [201, 201] : [200, 200]))
            }
            let ids = harness.simulator.received(pns: .apns).map { $0.headers["apns-id"] }
            #expect(ids.count == 2 && ids[0] != nil && ids[0] == ids[1])
            expectSound(done)
        }
    }

    @Test func aDeadLetterTheStoreRefusesStaysInItsQueue() async throws {
        let broker = InMemoryBroker()
        try await broker.declare(.pushline)
        let store = RefusingStore()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let properties = MessageProperties(
            type: "deliver",
            messageID: "m",
            contentType: "application/octet-stream",
            headers: [:]
        )
        let message = OutgoingMessage(routingKey: QueueName.dead, properties: properties, body: [1])
        #expect(await broker.publish([message], deadline: .seconds(10)) == [.published])
        for round in 1...2 {
            try await beside(DeadLetterConsumer(store: store, broker: broker, logger: logger).run) {
                while store.refusals < round { try await Task.sleep(for: .milliseconds(5)) }
            }
            #expect(broker.ready(in: QueueName.dead) == 1)
        }
    }
}

/// Runs a service beside `body`, and ends it with it.
func beside<Result: Sendable>(
    _ run: @Sendable @escaping () async throws -> Void,
    _ body: @Sendable () async throws -> Result
) async throws -> Result {
    let service = Task { try await run() }
    let result: Swift.Result<Result, any Error>
    do { result = .success(try await body()) } catch { result = .failure(error) }
    service.cancel()
    _ = await service.result
    return try result.get()
}

extension PipelineHarness {
    /// Fans a send out as a process does whose broker takes nothing.
    fileprivate func fanOutUnpublished(to tag: String) async throws {
        try await self.register("ann", .apns, token(1))
        try await self.fanOut(try await self.send(to: tag, isPublished: false))
    }
}

/// Registrations that have no answer for the first change they are asked for.
private struct FaultyRegistrations: HubRegistrations {
    private let registrations: EmbeddedRegistrations
    private let isFirst = NIOLockedValueBox(true)

    init(store: any RegistrationStore) { self.registrations = EmbeddedRegistrations(store: store) }

    func register(_ request: RegisterRequest, for job: Job, spec: AppSpec) async throws -> RegisterResult? {
        let isFirst = self.isFirst.withLockedValue { isFirst in
            defer { isFirst = false }
            return isFirst
        }
        if isFirst { throw HubError(.unavailable(), "busy") }
        return try await self.registrations.register(request, for: job, spec: spec)
    }
}

/// A fan-out that publishes nothing again.
private struct FaultyFanOut: SendFanOut {
    let fanOut: EmbeddedFanOut

    func advance(_ claim: FanOutClaim, spec: AppSpec, budget: Duration) async throws -> Advance {
        try await self.fanOut.advance(claim, spec: spec, budget: budget)
    }

    func run() async { await self.fanOut.run() }

    func resume(_ messages: [OutboxMessage], specs: [AppID: AppSpec]) async throws {
        throw StoreError(.corrupt, "a row makes no sense")
    }
}

/// A store that cannot make sense of a dead letter's batch.
private final class RefusingStore: DeadLetterStore, SuspectStore {
    private let count = NIOLockedValueBox(0)

    var refusals: Int { self.count.withLockedValue { $0 } }

    func deadLetter(_ message: IncomingDeadLetter) async throws -> [JobTrace] {
        self.count.withLockedValue { $0 += 1 }
        throw StoreError(.corrupt, "a list that cannot be read")
    }

    func deadLetters(_ query: DeadLetterQuery) async throws -> Page<DeadLetter> {
        Page(items: [], cursor: nil)
    }

    func replay(deadLetter number: Int64, app: AppID) async throws -> Replay? { nil }

    func discard(deadLetter number: Int64, app: AppID?) async throws -> DeadLetter? { nil }

    func suspect(_ fingerprint: [UInt8]) async throws -> Bool { false }

    func clear(suspect fingerprint: [UInt8]) async throws {}
}
