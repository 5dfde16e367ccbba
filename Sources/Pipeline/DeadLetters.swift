package import Broker
import FaultInjection
package import Logging
import PushModel
import PushlineLogging
import ServiceLifecycle
package import Store

/// Sends messages that no worker can process to the dead queue.
struct DeadLetterPublisher: Sendable {
    let broker: any MessageBroker
    /// Where to; those that end the consumer of the dead queue are parked.
    var queue = QueueName.dead

    /// Returns when the dead queue has the message, so that it may be acknowledged.
    ///
    /// - Parameters:
    ///   - delivery: The message.
    ///   - queue: Where it came from.
    ///   - reason: Why it is dead.
    /// - Throws: `CancellationError` when the task is cancelled before the broker took it.
    func publish(_ delivery: Delivery, from queue: String, reason: String) async throws {
        var message = OutgoingMessage(deadLetter: delivery, from: queue, reason: reason)
        message.routingKey = self.queue
        while await self.broker.publish([message], deadline: .seconds(10)) != [.published] {
            try await Task.sleep(for: .seconds(1))
        }
        CrashPoint.deadPublished.reach()
    }

    /// Why a message is dead that names no row of the outbox.
    static let unnamed = "its message-id is not the number of an outbox message"

    /// Sends a message there that names no row of the outbox.
    func publishUnnamed(_ delivery: Delivery, from queue: String) async throws {
        try await self.publish(delivery, from: queue, reason: Self.unnamed)
    }
}

/// Moves messages from the dead queue into the store's table (rule 6): commits, then acknowledges.
package struct DeadLetterConsumer: Service {
    private let store: any DeadLetterStore & SuspectStore
    private let broker: any MessageBroker
    private let logger: Logger

    /// - Parameters:
    ///   - store: The store of dead letters, and of suspects.
    ///   - broker: The broker.
    ///   - logger: Logs each dead letter.
    package init(store: any DeadLetterStore & SuspectStore, broker: any MessageBroker, logger: Logger) {
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
            suspects: Suspects(store: self.store, queue: QueueName.dead, logger: self.logger),
            // The row is its message's, which is counted for its workers.
            count: { delivery, _ in .work(isRepeated: delivery.deliveryCount >= FairLimiter.exclusiveRedeliveries) },
            handle: { delivery, subscription, _ in try await self.keep(delivery, subscription) },
            inspect: { _ = IncomingDeadLetter($0) },
            condemn: { delivery, reason in
                try await DeadLetterPublisher(broker: self.broker, queue: QueueName.parking)
                    .publish(delivery, from: QueueName.dead, reason: reason)
            },
            keepsFailures: true
        )
        try await consumer.run()
    }

    private func keep(_ delivery: Delivery, _ subscription: any Subscription) async throws {
        let message = IncomingDeadLetter(delivery)
        let jobs = try await StoreRetry(logger: self.logger).run { try await self.store.deadLetter(message) }
        LogContext.set(jobs: jobs)
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

extension IncomingDeadLetter {
    /// What is kept of a message of the dead queue.
    init(_ delivery: Delivery) {
        let headers = delivery.properties.headers
        self.init(
            queue: headers[MessageProperties.queueHeader] ?? delivery.firstDeathQueue ?? "unknown",
            type: delivery.properties.type,
            messageID: delivery.properties.messageID,
            app: headers[MessageProperties.appHeader].flatMap { try? AppID($0) },
            reason: headers[MessageProperties.reasonHeader] ?? "the broker's delivery limit was reached",
            body: delivery.body
        )
    }
}
