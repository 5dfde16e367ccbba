package import Broker
import FaultInjection
package import Logging
import PushModel
import ServiceLifecycle
package import Store

/// How often a message may be redelivered before it counts as poison (rule 5).
enum PoisonLimit {
    static let redeliveries = 5
}

/// Sends messages that nobody can work on to the dead queue.
struct DeadLetterPublisher: Sendable {
    let broker: any MessageBroker

    /// Returns when the dead queue has the message, so that it may be acknowledged.
    ///
    /// - Parameters:
    ///   - delivery: The message.
    ///   - queue: Where it came from.
    ///   - reason: Why it is dead.
    /// - Throws: `CancellationError` when the task is cancelled before the broker took it.
    func publish(_ delivery: Delivery, from queue: String, reason: String) async throws {
        let message = OutgoingMessage(deadLetter: delivery, from: queue, reason: reason)
        while await self.broker.publish([message], deadline: .seconds(10)) != [.published] {
            try await Task.sleep(for: .seconds(1))
        }
        CrashPoint.deadPublished.reach()
    }
}

/// Moves messages from the dead queue into the store's table (rule 6): commits, then acknowledges.
package struct DeadLetterConsumer: Service {
    private let store: any DeadLetterStore
    private let broker: any MessageBroker
    private let logger: Logger

    /// - Parameters:
    ///   - store: The store of dead letters.
    ///   - broker: The broker.
    ///   - logger: Logs each dead letter.
    package init(store: any DeadLetterStore, broker: any MessageBroker, logger: Logger) {
        self.store = store
        self.broker = broker
        self.logger = logger
    }

    package func run() async throws {
        let consumer = QueueConsumer(
            broker: self.broker,
            queue: QueueName.dead,
            priority: .low,
            prefetch: 8,
            limiter: FairLimiter(permits: 4),
            logger: self.logger,
            handle: { delivery, subscription in try await self.keep(delivery, subscription) },
            keepsFailures: true
        )
        try await consumer.run()
    }

    private func keep(_ delivery: Delivery, _ subscription: any Subscription) async throws {
        let headers = delivery.properties.headers
        let message = IncomingDeadLetter(
            queue: headers[MessageProperties.queueHeader] ?? delivery.firstDeathQueue ?? "unknown",
            type: delivery.properties.type,
            messageID: delivery.properties.messageID,
            app: headers[MessageProperties.appHeader].flatMap { try? AppID($0) },
            reason: headers[MessageProperties.reasonHeader] ?? "the broker's delivery limit was reached",
            body: delivery.body
        )
        try await StoreRetry(logger: self.logger).run { try await self.store.deadLetter(message) }
        CrashPoint.deadStored.reach()
        self.logger.error(
            "A message was dead-lettered",
            metadata: [
                "queue": "\(message.queue)", "message.id": "\(message.messageID)", "reason": "\(message.reason)",
            ]
        )
        await subscription.acknowledge([delivery])
    }
}
