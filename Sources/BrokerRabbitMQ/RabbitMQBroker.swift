package import Broker
package import Logging
import ServiceLifecycle

/// RabbitMQ behind the contract of ``MessageBroker``, over librabbitmq.
///
/// Two connections, each on a thread of its own: an alarm of the broker's stops the one that publishes, and consuming goes
/// on. Both come back by themselves, and declare and subscribe again.
package final class RabbitMQBroker: MessageBroker, Service {
    private let configuration: RabbitMQConfiguration
    private let logger: Logger
    private let publisher = PublisherMailbox()
    private let consumer = ConsumerMailbox()

    /// Prepares a broker; it connects in ``run()``.
    ///
    /// - Parameters:
    ///   - configuration: The address and the account.
    ///   - logger: Logs the state of the connections.
    package init(_ configuration: RabbitMQConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        self.consumer.remember(configuration.topology)
    }

    /// Keeps the connections until the task is cancelled or shut down in order; to be called once.
    package func run() async throws {
        await withTaskGroup { group in
            group.addTask { await self.runPublisher() }
            group.addTask { await self.runConsumer() }
            group.addTask { await self.publisher.keepDeadlines(requestTimeout: self.configuration.requestTimeout) }
            // Ends by cancellation as well, which is as good a reason to close.
            try? await gracefulShutdown()
            self.close()
            group.cancelAll()
        }
    }

    package func declare(_ topology: Topology) async throws {
        try await self.consumer.declare(topology)
    }

    package func publish(_ messages: [OutgoingMessage], deadline: Duration) async -> [PublishResult] {
        await self.publisher.publish(messages, deadline: deadline)
    }

    package func consume<Result: Sendable>(
        queue: String,
        prefetch: Int,
        _ body: @Sendable (any Subscription) async throws -> Result
    ) async throws -> Result {
        precondition(prefetch > 0, "A consumer takes at least one message.")
        let subscription = RabbitMQSubscription(queue: queue, prefetch: prefetch, mailbox: self.consumer)
        self.consumer.send(.attach(subscription))
        let result: Swift.Result<Result, any Error>
        do {
            let value = try await withGracefulShutdownHandler {
                try await body(subscription)
            } onGracefulShutdown: {
                subscription.stopNow()
            }
            result = .success(value)
        } catch {
            result = .failure(error)
        }
        await self.detach(subscription)
        return try result.get()
    }

    package func depth(of queue: String) async throws -> QueueDepth {
        try await withCheckedThrowingContinuation { continuation in
            self.consumer.send(.measure(queue, continuation))
        }
    }

    package var status: BrokerStatus {
        get async {
            for link in [self.publisher.link, self.consumer.link] {
                switch link.state {
                case .connected: continue
                case .blocked(let reason): return .blocked(reason)
                case .connecting: return .disconnected("The connection is being made.")
                case .down(let reason): return .disconnected(reason)
                case .closed: return .disconnected(BrokerError.closed.message)
                }
            }
            return .connected
        }
    }

    // MARK: - Threads

    private func runPublisher() async {
        let window = self.configuration.confirmWindow
        await self.thread("publisher", self.publisher.link).run { [publisher] in
            PublishingWork(publisher, windowSize: window)
        }
    }

    private func runConsumer() async {
        await self.thread("consumer", self.consumer.link).run { [consumer, logger] in
            ConsumingWork(consumer, logger: logger)
        }
    }

    private func thread(_ role: String, _ link: ConnectionLink) -> ConnectionThread {
        ConnectionThread(role: role, configuration: self.configuration, link: link, logger: self.logger)
    }

    private func close() {
        for link in [self.publisher.link, self.consumer.link] {
            link.set(.closed)
            link.wake()
        }
    }

    /// Ends a subscription; returns when its deliveries are on their way back.
    private func detach(_ subscription: RabbitMQSubscription) async {
        await withCheckedContinuation { continuation in
            self.consumer.send(.detach(subscription, continuation))
        }
    }
}
