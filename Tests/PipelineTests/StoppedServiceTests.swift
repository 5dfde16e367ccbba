import Logging
import NIOConcurrencyHelpers
import OutgoingHTTP
import Payloads
import PushModel
import PushServices
import RawHTTP
import ServiceLifecycle
import Store
import Testing
import Undisturbed

@testable import Pipeline
@testable import PushlineSimulator

/// A push service that stops in the middle, as a worker lives through it.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct StoppedServiceTests {
    /// Runs one in the place of WNS, and registers devices there.
    private static func with(
        _ stop: StoppingPeer.Stop,
        devices: Int,
        _ body: @Sendable @escaping (PipelineHarness, StoppingPeer) async throws -> Void
    ) async throws {
        try await PipelineHarness.with([.send, .sweeper]) { harness in
            let tls = try harness.simulator.credentials.keys
                .serverContext(protocols: ["http/1.1"], takesCertificates: false)
            try await StoppingPeer.run(.http1, tls: tls, stopping: stop, answer: { _ in .init(200) }) { peer in
                var spec = try harness.simulator.appSpec
                spec.wns?.channelPrefixes = ["https://127.0.0.1:\(peer.port)/"]
                _ = try await harness.store.apply(.app(.default, spec))
                for number in 0..<devices {
                    try await harness.register("ann", .wns, "https://127.0.0.1:\(peer.port)/\(number)")
                }
                try await body(harness, peer)
            }
        }
    }

    @Test func whatWasAcceptedIsRecordedThoughItsAnswerStops() async throws {
        try await Self.with(.frame, devices: 40) { harness, peer in
            let (worker, senders) = harness.deliveryWorker(requestTimeout: .seconds(3))
            let id = try await harness.send(to: "username:ann")
            let done = try await beside(worker.run) { try await harness.wait(for: id) }
            await senders.close()
            #expect(done.state == .completed && done.counts[.wns]?.accepted == 40)
            expectSound(done)
            #expect(peer.requests == 40)
        }
    }

    @Test func aWorkerEndsWithTheDeadlinesOfWhatIsInFlight() async throws {
        try await Self.with(.silence, devices: 100) { harness, peer in
            let (worker, senders) = harness.deliveryWorker(requestTimeout: .seconds(2))
            let group = ServiceGroup(
                configuration: ServiceGroupConfiguration(
                    services: [
                        .init(service: senders),
                        .init(service: worker, successTerminationBehavior: .gracefullyShutdownGroup),
                    ],
                    logger: harness.logger
                )
            )
            let running = Task { try await group.run() }
            _ = try await harness.send(to: "username:ann")
            while peer.requests < 32 { try await Task.sleep(for: .milliseconds(5)) }
            let start = ContinuousClock.now
            await group.triggerGracefulShutdown()
            try await running.value
            #expect(ContinuousClock.now - start < .seconds(3))
            // Of the others none was begun.
            #expect(peer.requests == 32)
        }
    }

    @Test func aWorkerWithoutWorkEndsAtOnce() async throws {
        try await PipelineHarness.with([]) { harness in
            let (worker, senders) = harness.deliveryWorker()
            _ = try senders.sender(app: .default, pns: .wns, spec: harness.simulator.appSpec)
            let group = ServiceGroup(
                configuration: ServiceGroupConfiguration(
                    services: [.init(service: senders), .init(service: worker)],
                    logger: harness.logger
                )
            )
            let running = Task { try await group.run() }
            try await Task.sleep(for: .milliseconds(300))
            let start = ContinuousClock.now
            await group.triggerGracefulShutdown()
            try await running.value
            #expect(ContinuousClock.now - start < .seconds(1))
        }
    }

    // MARK: A sender that does not come back

    /// Hears of no deadline and no cancellation.
    private final class StuckSender: PushSender {
        let waiting = NIOLockedValueBox<[CheckedContinuation<Void, Never>]>([])
        let isClosed = NIOLockedValueBox(false)

        func send(_ batch: PushRequest) async -> [DeviceResult] {
            await withCheckedContinuation { waiter in self.waiting.withLockedValue { $0.append(waiter) } }
            return batch.indexes.map { _ in .accepted }
        }

        func close(by deadline: ContinuousClock.Instant) async { self.isClosed.withLockedValue { $0 = true } }

        func release() { for waiter in self.waiting.withLockedValue({ $0 }) { waiter.resume() } }
    }

    @Test func nobodyWaitsForASenderThatDoesNotComeBack() async throws {
        let stuck = StuckSender()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let watch = DeadlineWatch()
        let sender = WatchedSender(
            sender: stuck,
            registry: SenderRegistry(logger: logger),
            watch: watch,
            app: .default,
            pns: .wns,
            credential: .default,
            logger: logger
        )
        var devices = DeliverBatch.Devices()
        devices.rows = [1, 2]
        devices.handles = HandleList([Handle(stored: "a"), Handle(stored: "b")])
        var batch = PushRequest(
            payload: try PayloadFormatter.format(.classic(sender: "test", text: "hello"), for: .wns),
            job: JobID(high: 0x0123_4567_89AB_7DEF, low: 0x8123_4567_89AB_CDEF),
            devices: devices,
            deadline: .now + .milliseconds(100)
        )
        let lost = DeviceResult.unanswered(reason: "the sender did not come back in time")
        var start = ContinuousClock.now
        #expect(await sender.send(batch) == [lost, lost])
        #expect(ContinuousClock.now - start < .seconds(1.1))
        // A process that is about to end waits no longer than for what is in flight.
        batch.deadline = .now + .seconds(600)
        watch.limit(to: .now + .milliseconds(100))
        start = .now
        #expect(await sender.send(batch) == [lost, lost])
        #expect(ContinuousClock.now - start < .seconds(1.1))
        let end = ContinuousClock.now + .seconds(10)
        while !stuck.isClosed.withLockedValue({ $0 }), ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(5))
        }
        #expect(stuck.isClosed.withLockedValue { $0 })
        stuck.release()
    }
}
