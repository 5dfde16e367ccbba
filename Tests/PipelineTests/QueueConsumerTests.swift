import Broker
import Logging
import NIOConcurrencyHelpers
import PushModel
import Testing
import Undisturbed

@testable import Pipeline

/// What becomes of messages that wait for a permit (rule 10).
@Suite(.timeLimit(.minutes(5)), .undisturbed) struct QueueConsumerTests {
    static let queue = QueueName.work(.deliver(.apns), .normal)

    private let broker = InMemoryBroker()
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    /// The ids of those that were begun, or deferred, in that order.
    private let seen = NIOLockedValueBox<[String]>([])

    func publish(_ ids: [String]) async throws {
        try await self.broker.declare(.pushline)
        let messages = ids.map { id in
            OutgoingMessage(
                routingKey: Self.queue,
                properties: MessageProperties(type: "deliver", messageID: id, contentType: "x"),
                body: []
            )
        }
        #expect(await self.broker.publish(messages, deadline: .seconds(1)).allSatisfy(\.isPublished))
    }

    func consumer(
        logger: Logger? = nil,
        _ handle: @escaping @Sendable (Delivery, any Subscription) async throws -> Void
    ) -> QueueConsumer {
        QueueConsumer(
            broker: self.broker,
            queue: Self.queue,
            priority: .normal,
            prefetch: 10,
            limiter: FairLimiter(permits: 1),
            logger: logger ?? self.logger,
            suspects: Suspects(store: ScriptedOutbox(), queue: Self.queue, logger: self.logger),
            count: { _, _ in .work(isRepeated: false) },
            handle: { delivery, subscription, _ in try await handle(delivery, subscription) },
            condemn: { _, _ in },
            isolatesRedeliveries: false
        )
    }

    private func see(_ delivery: Delivery) {
        self.seen.withLockedValue { $0.append(delivery.properties.messageID) }
    }

    private func isOver() -> Bool {
        self.broker.ready(in: Self.queue) + self.broker.unacknowledged(in: Self.queue) == 0
    }

    @Test func aLostConnectionRepeatsOnlyWorkInProgress() async throws {
        try await self.publish(["1", "2", "3"])
        let isHeld = NIOLockedValueBox(true)
        let consumer = self.consumer { delivery, subscription in
            self.see(delivery)
            while isHeld.withLockedValue({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
            await subscription.acknowledge([delivery])
        }
        let running = Task { try await consumer.run() }
        // One is in progress, and two wait for its permit.
        while self.broker.unacknowledged(in: Self.queue) < 3 || self.seen.withLockedValue({ $0.isEmpty }) {
            try await Task.sleep(for: .milliseconds(5))
        }
        let inProgress = self.seen.withLockedValue { $0 }
        self.broker.redeliver()
        while self.broker.unacknowledged(in: Self.queue) < 3 { try await Task.sleep(for: .milliseconds(5)) }
        isHeld.withLockedValue { $0 = false }
        while !self.isOver() { try await Task.sleep(for: .milliseconds(5)) }
        running.cancel()
        _ = await running.result
        #expect(self.seen.withLockedValue { $0.sorted() } == (["1", "2", "3"] + inProgress).sorted())
    }

    @Test func messagesOfALostConnectionAreNotDeferred() async throws {
        try await self.publish(["1"])
        let voids = NIOLockedValueBox(0)
        var consumer = self.consumer { _, _ in }
        consumer.isBlocked = { _ in true }
        consumer.deferWork = { delivery, subscription in
            self.see(delivery)
            if !subscription.isCurrent(delivery) { voids.withLockedValue { $0 += 1 } }
            // Store writes fail yet: it is tried again and again.
            return false
        }
        let running = Task { [consumer] in try await consumer.run() }
        while self.seen.withLockedValue({ $0.isEmpty }) { try await Task.sleep(for: .milliseconds(5)) }
        self.broker.redeliver()
        while self.seen.withLockedValue({ $0.count < 4 }) { try await Task.sleep(for: .milliseconds(5)) }
        running.cancel()
        _ = await running.result
        #expect(voids.withLockedValue { $0 } == 0)
    }
}
