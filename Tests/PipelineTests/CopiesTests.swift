import Broker
import Hub
import NIOConcurrencyHelpers
import PushModel
import PushServices
import PushlineSimulator
import Store
import Testing
import Undisturbed

@testable import Pipeline

extension PipelineLoadTests {
    /// One batch in the hands of several workers, and several batches in one prefetch window (rules 2, 3 and 5).
    @Suite(.serialized, .timeLimit(.minutes(2)), .undisturbed) struct CopiesTests {
        private static let queue = QueueName.work(.deliver(.apns), .normal)

        private static func broker() async throws -> InMemoryBroker {
            let broker = InMemoryBroker()
            try await broker.declare(.pushline)
            return broker
        }

        /// Has a worker of its own at each broker until all their messages are done with.
        private static func deliver(_ brokers: [InMemoryBroker], in harness: PipelineHarness) async throws {
            let workers = brokers.map { harness.deliveryWorker(broker: $0) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (worker, _) in workers { group.addTask { try await worker.run() } }
                for broker in brokers {
                    while broker.ready(in: Self.queue) + broker.unacknowledged(in: Self.queue) > 0 {
                        try await Task.sleep(for: .milliseconds(10))
                    }
                }
                group.cancelAll()
            }
            for (_, senders) in workers { await senders.close() }
        }

        /// Publishes what is at a broker once more, as another process does to which it was given back.
        private static func sweep(_ source: RecordingBroker, to broker: InMemoryBroker, in harness: PipelineHarness)
            async throws
        {
            let messages = source.published.compactMap { MessageID($0.properties.messageID) }
            #expect(messages.count == 1)
            for id in messages { #expect(try await harness.store.defer(id, epoch: nil, Deferral())) }
            let taken = try await harness.store.takeDue([.deliver(.apns)], overdue: .zero, limit: 10)
            #expect(taken.map(\.id) == messages)
            let fanOut = EmbeddedFanOut(store: harness.store, broker: broker, logger: harness.logger)
            try await fanOut.resume(taken, specs: [.default: try harness.simulator.appSpec])
        }

        @Test func aBatchDeliveredByTwoWorkersIsCountedOnce() async throws {
            try await PipelineHarness.with([]) { harness in
                try await harness.register("ann", devices: 1...50)
                // Long enough for both to be at it before either has an answer.
                harness.simulator.inject(SimulatorFault(.delay, pns: .apns, latency: 1000))
                let id = try await harness.send(to: "username:ann", platforms: [.apns], isPublished: false)
                let brokers = [try await Self.broker(), try await Self.broker()]
                let fannedOut = RecordingBroker(base: brokers[0])
                try await harness.fanOut(id, at: fannedOut)
                try await Self.sweep(fannedOut, to: brokers[1], in: harness)
                try await Self.deliver(brokers, in: harness)
                let job = try await harness.job(id)
                #expect(job.state == .completed)
                #expect(job.counts[.apns]?.targets == 50)
                #expect(job.counts[.apns]?.accepted == 50)
                expectSound(job)
                #expect(try await harness.store.audit(after: 0, limit: 10).faults == [])
            }
        }

        @Test func aPageReadTwiceDifferentlyIsCountedOnce() async throws {
            try await PipelineHarness.with([]) { harness in
                let news = try Tag("news", .folded)
                var leaving: [RegistrationID] = []
                for number in 1...3 {
                    leaving.append(try await harness.register("ann", .apns, token(number), tags: ["news"]))
                }
                try await harness.register("ann", devices: 4...20, tags: ["news"])
                var joining: [RegistrationID] = []
                for number in 21...25 { joining.append(try await harness.register("ben", .apns, token(number))) }
                try await harness.register("cid", .apns, token(26), tags: ["news"])
                harness.simulator.inject(SimulatorFault(.delay, pns: .apns, latency: 1000))
                let id = try await harness.send(to: "news", platforms: [.apns], isPublished: false)
                let brokers = [try await Self.broker(), try await Self.broker()]
                let fannedOut = RecordingBroker(base: brokers[0])
                try await harness.fanOut(id, at: fannedOut)
                for registration in leaving {
                    try await harness.change(.delete(registration), of: UserName("ann", .folded))
                }
                for (index, registration) in joining.enumerated() {
                    let handle = Handle(stored: token(21 + index))
                    try await harness.change(
                        .upsert(registration, .init(pns: .apns, handle: handle, tags: [news])),
                        of: UserName("ben", .folded)
                    )
                }
                try await Self.sweep(fannedOut, to: brokers[1], in: harness)
                try await Self.deliver(brokers, in: harness)
                let job = try await harness.job(id)
                #expect(job.state == .completed)
                // 21 before, 23 after: all of one of the two, whichever was recorded first.
                let targets = try #require(job.counts[.apns]?.targets)
                #expect([21, 23].contains(targets))
                #expect(job.counts[.apns]?.accepted == targets)
                expectSound(job)
                #expect(try await harness.store.audit(after: 0, limit: 10).faults == [])
            }
        }

        @Test func aBatchThatIsClosedBeforeItsRedeliveryIsCountedIsNotSentAgain() async throws {
            try await PipelineHarness.with([.send]) { harness in
                try await harness.register("ann", .apns, token(1))
                let id = try await harness.send(to: "username:ann", platforms: [.apns])
                while harness.broker.ready(in: Self.queue) < 1 { try await Task.sleep(for: .milliseconds(10)) }
                // Its worker ended: it comes again.
                try await harness.broker.consume(queue: Self.queue, prefetch: 1) { _ = try await $0.next() }
                let batch = BatchKey(job: id, pns: .apns, page: 0, attempt: 0)
                let (worker, senders) = harness.deliveryWorker(store: ClosingStore(base: harness.store, batch: batch))
                let running = Task { try await worker.run() }
                let job = try await harness.wait(for: id)
                while harness.broker.ready(in: Self.queue) + harness.broker.unacknowledged(in: Self.queue) > 0 {
                    try await Task.sleep(for: .milliseconds(10))
                }
                running.cancel()
                _ = await running.result
                await senders.close()
                #expect(harness.simulator.received().isEmpty)
                #expect(job.counts[.apns]?.accepted == 1)
                expectSound(job)
            }
        }

        @Test func aPoisonMessageIsDeadLetteredAndItsNeighboursAreDelivered() async throws {
            try await PipelineHarness.with([.dead]) { harness in
                try await harness.register("ann", .apns, token(1))
                let fannedOut = RecordingBroker(base: harness.broker)
                var ids: [JobID] = []
                for _ in 0..<3 {
                    let id = try await harness.send(to: "username:ann", platforms: [.apns], isPublished: false)
                    try await harness.fanOut(id, at: fannedOut)
                    ids.append(id)
                }
                let poison = try #require(MessageID(fannedOut.published[1].properties.messageID))
                for _ in 0..<Redeliveries.limit { _ = try await harness.store.redelivered(poison) }
                // All three were in the window of the worker that it ended last.
                try await harness.broker.consume(queue: Self.queue, prefetch: 3) { subscription in
                    for _ in 0..<3 { _ = try await subscription.next() }
                }
                let (worker, senders) = harness.deliveryWorker()
                let running = Task { try await worker.run() }
                var jobs: [Job] = []
                for id in ids { jobs.append(try await harness.wait(for: id)) }
                running.cancel()
                _ = await running.result
                await senders.close()
                #expect(jobs.map { $0.counts[.apns]?.accepted ?? 0 } == [1, 0, 1])
                #expect(jobs[1].counts[.apns]?.failed == [.dead: 1])
                jobs.forEach { expectSound($0) }
            }
        }
    }
}

/// Remembers what is published at a broker.
private final class RecordingBroker: MessageBroker {
    private let base: InMemoryBroker
    private let messages = NIOLockedValueBox<[OutgoingMessage]>([])

    init(base: InMemoryBroker) { self.base = base }

    var published: [OutgoingMessage] { self.messages.withLockedValue { $0 } }

    func declare(_ topology: Topology) async throws { try await self.base.declare(topology) }

    func publish(_ messages: [OutgoingMessage], deadline: Duration) async -> [PublishResult] {
        self.messages.withLockedValue { $0 += messages }
        return await self.base.publish(messages, deadline: deadline)
    }

    func consume<Result: Sendable>(
        queue: String,
        prefetch: Int,
        _ body: @Sendable (any Subscription) async throws -> Result
    ) async throws -> Result {
        try await self.base.consume(queue: queue, prefetch: prefetch, body)
    }

    func depth(of queue: String) async throws -> QueueDepth { try await self.base.depth(of: queue) }

    var status: BrokerStatus { get async { await self.base.status } }
}
