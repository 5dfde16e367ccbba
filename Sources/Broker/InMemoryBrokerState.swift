import DequeModule

/// The state of an ``InMemoryBroker``, guarded by its lock.
///
/// There is no consumer buffer: a message leaves its queue when a consumer waits for it.
struct InMemoryBrokerState {
    struct Message {
        /// The place in the queue, which it takes again when it comes back.
        var order: UInt64
        var properties: MessageProperties
        var body: [UInt8]
        var deliveryCount = 0
        var firstDeathQueue: String?
    }

    struct QueueState {
        var declaration: Topology.Queue
        var ready = Deque<Message>()
        /// Consumers in the order in which the next message is offered to them.
        var consumers = Deque<Int>()
    }

    struct Waiter {
        /// One call of `next()`, known by its identity.
        final class ID: Sendable {}

        let id: ID
        let continuation: CheckedContinuation<Delivery?, any Error>
    }

    struct Consumer {
        let queue: String
        let prefetch: Int
        var isStopped = false
        var waiters = Deque<Waiter>()
        var unacknowledged: [UInt64: Message] = [:]
    }

    /// A waiting call and its result, delivered once the lock is released.
    struct Wakeup {
        let continuation: CheckedContinuation<Delivery?, any Error>
        let result: Result<Delivery?, any Error>
    }

    var queues: [String: QueueState] = [:]
    var consumers: [Int: Consumer] = [:]
    var exchanges: Set<String> = []
    /// Names of queues by exchange and routing key.
    var bindings: [String: [String: Set<String>]] = [:]
    var isUnavailable = false
    var isSilent = false
    var blocked: String?
    var confirmsToLose = 0
    /// Queues that refuse messages, and when to try again.
    var refusing: [String: Duration] = [:]
    /// How many messages were refused.
    var refused = 0

    private var generation: UInt64 = 1
    private var lastTag: UInt64 = 0
    private var lastOrder: UInt64 = 0
    private var lastConsumer = 0
    private var wakeups: [Wakeup] = []

    var status: BrokerStatus {
        if self.isUnavailable { return .disconnected("The broker was made unavailable.") }
        if let blocked { return .blocked(blocked) }
        return .connected
    }

    mutating func takeWakeups() -> [Wakeup] {
        defer { self.wakeups = [] }
        return self.wakeups
    }
}

// MARK: - Declaring and publishing

extension InMemoryBrokerState {
    mutating func declare(_ topology: Topology) throws {
        guard !self.isUnavailable else { throw BrokerError.noConnection }
        for exchange in topology.exchanges { self.exchanges.insert(exchange.name) }
        for queue in topology.queues {
            if let present = self.queues[queue.name], present.declaration.kind != queue.kind {
                throw BrokerError(.mismatch, "The queue \(queue.name) exists with other arguments.")
            }
            if let exchange = queue.exchange {
                guard self.exchanges.contains(exchange) else {
                    throw BrokerError(.notFound, "The exchange \(exchange) does not exist.")
                }
                self.bindings[exchange, default: [:]][queue.key, default: []].insert(queue.name)
            }
            self.queues[queue.name, default: QueueState(declaration: queue)].declaration = queue
        }
    }

    mutating func publish(_ message: OutgoingMessage) -> PublishResult {
        guard !self.isUnavailable else { return .failed(.noConnection) }
        if let blocked { return .failed(BrokerError(.blocked, "The broker accepts no messages: \(blocked).")) }
        guard message.exchange.isEmpty || self.exchanges.contains(message.exchange) else {
            return .failed(BrokerError(.notFound, "The exchange \(message.exchange) does not exist."))
        }
        let takers: Set<String> =
            if message.exchange.isEmpty {
                self.queues[message.routingKey] != nil ? [message.routingKey] : []
            } else {
                self.bindings[message.exchange]?[message.routingKey] ?? []
            }
        if let pause = self.refusing[message.routingKey] {
            self.refused += 1
            return .failed(.notTaken(retryAfter: pause))
        }
        guard !takers.isEmpty else {
            // A hint may be lost, so it needs no queue.
            guard message.isPersistent else { return .published }
            return .failed(BrokerError(.returned, "No queue takes messages for \(message.routingKey)."))
        }
        for queue in takers {
            self.append(properties: message.properties, body: message.body, to: queue)
            self.dispatch(queue)
        }
        if self.confirmsToLose > 0 {
            self.confirmsToLose -= 1
            return .failed(.notConfirmed)
        }
        return .published
    }

    private mutating func append(
        properties: MessageProperties,
        body: [UInt8],
        to queue: String,
        firstDeathQueue: String? = nil
    ) {
        self.lastOrder += 1
        let message = Message(
            order: self.lastOrder,
            properties: properties,
            body: body,
            firstDeathQueue: firstDeathQueue
        )
        self.queues[queue]?.ready.append(message)
    }
}

// MARK: - Consuming

extension InMemoryBrokerState {
    mutating func addConsumer(queue: String, prefetch: Int) throws -> Int {
        guard self.queues[queue] != nil else {
            throw BrokerError(.notFound, "The queue \(queue) does not exist.")
        }
        precondition(prefetch > 0, "A consumer takes at least one message.")
        self.lastConsumer += 1
        self.consumers[self.lastConsumer] = Consumer(queue: queue, prefetch: prefetch)
        self.queues[queue]?.consumers.append(self.lastConsumer)
        return self.lastConsumer
    }

    mutating func removeConsumer(_ id: Int) {
        guard let consumer = self.consumers.removeValue(forKey: id) else { return }
        self.queues[consumer.queue]?.consumers.removeAll { $0 == id }
        for waiter in consumer.waiters { self.wake(waiter, with: .success(nil)) }
        self.requeue(Array(consumer.unacknowledged.values), to: consumer.queue)
        self.dispatch(consumer.queue)
    }

    mutating func stop(_ id: Int) {
        guard let waiters = self.consumers[id]?.waiters else { return }
        self.consumers[id]?.isStopped = true
        self.consumers[id]?.waiters = []
        for waiter in waiters { self.wake(waiter, with: .success(nil)) }
    }

    mutating func wait(
        consumer id: Int,
        waiter: Waiter.ID,
        _ continuation: CheckedContinuation<Delivery?, any Error>
    ) {
        let call = Waiter(id: waiter, continuation: continuation)
        // Looked at under the lock: a cancellation that comes later finds the waiter.
        if Task.isCancelled {
            self.wake(call, with: .failure(CancellationError()))
        } else if let consumer = self.consumers[id], !consumer.isStopped {
            self.consumers[id]?.waiters.append(call)
            self.dispatch(consumer.queue)
        } else {
            self.wake(call, with: .success(nil))
        }
    }

    mutating func cancel(consumer id: Int, waiter: Waiter.ID) {
        guard let index = self.consumers[id]?.waiters.firstIndex(where: { $0.id === waiter }),
            let call = self.consumers[id]?.waiters.remove(at: index)
        else { return }
        self.wake(call, with: .failure(CancellationError()))
    }

    mutating func acknowledge(_ deliveries: [Delivery], consumer id: Int) {
        guard let queue = self.consumers[id]?.queue else { return }
        for delivery in deliveries where self.isCurrent(delivery) {
            self.consumers[id]?.unacknowledged[delivery.tag] = nil
        }
        self.dispatch(queue)
    }

    func isCurrent(_ delivery: Delivery) -> Bool { delivery.generation == self.generation }

    /// Gives the queue's messages to those who wait, one each in turn.
    private mutating func dispatch(_ name: String) {
        guard !self.isUnavailable, var queue = self.queues.removeValue(forKey: name) else { return }
        while !queue.ready.isEmpty, let id = self.taker(of: &queue), let message = queue.ready.popFirst(),
            let waiter = self.consumers[id]?.waiters.popFirst()
        {
            self.lastTag += 1
            self.consumers[id]?.unacknowledged[self.lastTag] = message
            let delivery = Delivery(
                tag: self.lastTag,
                generation: self.generation,
                properties: message.properties,
                body: message.body,
                deliveryCount: message.deliveryCount,
                firstDeathQueue: message.firstDeathQueue
            )
            self.wake(waiter, with: .success(delivery))
        }
        self.queues[name] = queue
    }

    /// The next waiting consumer in turn whose prefetch allows another message.
    private func taker(of queue: inout QueueState) -> Int? {
        for _ in 0..<queue.consumers.count {
            guard let id = queue.consumers.popFirst() else { return nil }
            queue.consumers.append(id)
            guard let consumer = self.consumers[id], !consumer.waiters.isEmpty else { continue }
            if consumer.unacknowledged.count < consumer.prefetch { return id }
        }
        return nil
    }

    private mutating func wake(_ waiter: Waiter, with result: Result<Delivery?, any Error>) {
        self.wakeups.append(Wakeup(continuation: waiter.continuation, result: result))
    }
}

// MARK: - Loss

extension InMemoryBrokerState {
    mutating func setUnavailable(_ unavailable: Bool) {
        self.isUnavailable = unavailable
        self.loseConnections()
    }

    mutating func loseConnections() {
        self.generation += 1
        for id in self.consumers.keys.sorted() {
            guard let consumer = self.consumers[id] else { continue }
            self.consumers[id]?.unacknowledged = [:]
            self.requeue(Array(consumer.unacknowledged.values), to: consumer.queue)
        }
        for name in self.queues.keys.sorted() {
            if self.queues[name]?.declaration.kind == .exclusive { self.queues[name]?.ready = [] }
            self.dispatch(name)
        }
    }

    /// Puts messages back to their places, or to the dead-letter queue when they exceed the queue's limit.
    private mutating func requeue(_ messages: [Message], to name: String) {
        guard !messages.isEmpty, var queue = self.queues[name] else { return }
        var deadLetterQueue: String?
        var limit: Int?
        if case .quorum(let dead, let deliveryLimit) = queue.declaration.kind {
            (deadLetterQueue, limit) = (dead, deliveryLimit)
        }
        var returning: [Message] = []
        var dead: [Message] = []
        for var message in messages.sorted(by: { $0.order < $1.order }) {
            message.deliveryCount += 1
            if let limit, message.deliveryCount > limit { dead.append(message) } else { returning.append(message) }
        }
        // Returned messages are older than most waiting ones, so this ends soon.
        var front: [Message] = []
        for message in returning {
            while let first = queue.ready.first, first.order < message.order { front.append(queue.ready.removeFirst()) }
            front.append(message)
        }
        queue.ready.prepend(contentsOf: front)
        self.queues[name] = queue
        if let deadLetterQueue {
            for message in dead {
                self.append(
                    properties: message.properties,
                    body: message.body,
                    to: deadLetterQueue,
                    firstDeathQueue: message.firstDeathQueue ?? name
                )
            }
            self.dispatch(deadLetterQueue)
        }
    }
}
