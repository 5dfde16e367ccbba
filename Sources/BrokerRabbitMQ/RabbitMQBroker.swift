package import Broker
package import Logging
import ServiceLifecycle

/// RabbitMQ behind the contract of ``MessageBroker``, over librabbitmq.
///
/// Two connections, each on a thread of its own: an alarm of the broker's stops the one that publishes, and consuming goes
/// on. A third one for exclusive queues, if there are some: while a node of a cluster is cut off, the broker may take a
/// minute to declare one, and nothing else is to wait for that. All come back by themselves, each at the node that it finds
/// first, and declare and subscribe again.
package final class RabbitMQBroker: MessageBroker, Service {
    private let configuration: RabbitMQConfiguration
    private let logger: Logger
    private let publisher = PublisherMailbox()
    private let consumer = ConsumerMailbox()
    /// For exclusive queues.
    private let events = ConsumerMailbox()
    private let (firstEvents, firstEventsContinuation) = AsyncStream<Void>.makeStream()

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
            group.addTask { await self.runEvents() }
            group.addTask { await self.publisher.keepDeadlines(requestTimeout: self.configuration.requestTimeout) }
            // Ends by cancellation as well, which is as good a reason to close.
            try? await gracefulShutdown()
            self.close()
            group.cancelAll()
        }
    }

    package func declare(_ topology: Topology) async throws {
        let (lasting, exclusive) = topology.divided
        if let lasting { try await self.consumer.declare(lasting) }
        guard let exclusive else { return }
        // The thread begins when it is needed.
        self.firstEventsContinuation.finish()
        try await self.events.declare(exclusive)
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
        let mailbox = self.mailbox(for: queue)
        let subscription = RabbitMQSubscription(queue: queue, prefetch: prefetch, mailbox: mailbox)
        mailbox.send(.attach(subscription))
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
        await self.detach(subscription, from: mailbox)
        return try result.get()
    }

    package func depth(of queue: String) async throws -> QueueDepth {
        try await withCheckedThrowingContinuation { continuation in
            self.mailbox(for: queue).send(.measure(queue, continuation))
        }
    }

    package var status: BrokerStatus {
        get async {
            // Not the one for exclusive queues: what comes by it is hints, and work gets on without them.
            for link in [self.publisher.link, self.consumer.link] {
                switch link.state {
                case .connected: continue
                case .blocked(let reason): return .blocked(reason)
                case .connecting: return .connecting
                case .down(let error): return .disconnected(error.message)
                case .closed: return .disconnected(BrokerError.closed.message)
                }
            }
            return .connected
        }
    }

    // MARK: - Threads

    private func runPublisher() async {
        await self.thread("publisher", self.publisher.link).run { [publisher, configuration, logger] in
            PublishingWork(publisher, configuration: configuration, logger: logger)
        }
    }

    private func runConsumer() async {
        await self.thread("consumer", self.consumer.link).run { [consumer, configuration, logger] in
            ConsumingWork(consumer, patience: configuration.requestTimeout, logger: logger)
        }
    }

    private func runEvents() async {
        // Ends by cancellation as well: then the thread has only to refuse what waits.
        for await _ in self.firstEvents {}
        await self.thread("events", self.events.link).run { [events, configuration, logger] in
            ConsumingWork(events, patience: configuration.requestTimeout, logger: logger)
        }
    }

    private func mailbox(for queue: String) -> ConsumerMailbox {
        self.events.knows(queue) ? self.events : self.consumer
    }

    private func thread(_ role: String, _ link: ConnectionLink) -> ConnectionThread {
        ConnectionThread(role: role, configuration: self.configuration, link: link, logger: self.logger)
    }

    private func close() {
        for link in [self.publisher.link, self.consumer.link, self.events.link] {
            link.set(.closed)
            link.wake()
        }
    }

    /// Ends a subscription; returns when its deliveries are on their way back.
    private func detach(_ subscription: RabbitMQSubscription, from mailbox: ConsumerMailbox) async {
        await withCheckedContinuation { continuation in
            mailbox.send(.detach(subscription, continuation))
        }
    }
}

extension Topology {
    /// What lasts, and the exclusive queues with the exchanges that they are bound to; nil = there is none of it.
    fileprivate var divided: (lasting: Topology?, exclusive: Topology?) {
        let own = self.queues.filter { $0.kind == .exclusive }
        let bound = Set(own.compactMap(\.exchange))
        let others = self.queues.filter { $0.kind != .exclusive }
        let lasting = Topology(
            exchanges: self.exchanges.filter { exchange in
                !bound.contains(exchange.name) || others.contains { $0.exchange == exchange.name }
            },
            queues: others
        )
        let exclusive = Topology(exchanges: self.exchanges.filter { bound.contains($0.name) }, queues: own)
        return (
            lasting.exchanges.isEmpty && lasting.queues.isEmpty ? nil : lasting,
            exclusive.queues.isEmpty ? nil : exclusive
        )
    }
}
