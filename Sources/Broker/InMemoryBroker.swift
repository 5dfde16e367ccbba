import NIOConcurrencyHelpers
import ServiceLifecycle

/// A broker in the memory of one process, for tests and for running everything in a single process.
///
/// It keeps the contract of ``MessageBroker`` with one exception: its messages are lost with the process. Functions
/// beyond the protocol simulate faults of a real broker: an outage, an alarm, full queues, lost connections and lost confirms.
package final class InMemoryBroker: MessageBroker {
    private let state = NIOLockedValueBox(InMemoryBrokerState())

    package init() {}

    package func declare(_ topology: Topology) async throws {
        try self.state.withLockedValue { try $0.declare(topology) }
    }

    package func publish(_ messages: [OutgoingMessage], deadline: Duration) async -> [PublishResult] {
        let end = ContinuousClock.now.advanced(by: deadline)
        while self.state.withLockedValue({ $0.isSilent }) {
            guard ContinuousClock.now < end, !Task.isCancelled else {
                return messages.map { _ in .failed(BrokerError(.timeout, "The broker was silent.")) }
            }
            try? await Task.sleep(for: .milliseconds(10))
        }
        var results: [PublishResult] = []
        results.reserveCapacity(messages.count)
        self.change { state in
            for message in messages { results.append(state.publish(message)) }
        }
        return results
    }

    package func consume<Result: Sendable>(
        queue: String,
        prefetch: Int,
        _ body: @Sendable (any Subscription) async throws -> Result
    ) async throws -> Result {
        let id = try self.state.withLockedValue { try $0.addConsumer(queue: queue, prefetch: prefetch) }
        defer { self.change { $0.removeConsumer(id) } }
        let subscription = InMemorySubscription(broker: self, id: id)
        return try await withGracefulShutdownHandler {
            try await body(subscription)
        } onGracefulShutdown: {
            self.change { $0.stop(id) }
        }
    }

    package func depth(of queue: String) async throws -> QueueDepth {
        try self.state.withLockedValue { state in
            guard !state.isUnavailable else { throw BrokerError(.unreachable, "The broker was made unavailable.") }
            guard let found = state.queues[queue] else {
                throw BrokerError(.notFound, "The queue \(queue) does not exist.")
            }
            return QueueDepth(ready: found.ready.count, consumers: found.consumers.count)
        }
    }

    package var status: BrokerStatus {
        get async { self.state.withLockedValue { $0.status } }
    }

    func isCurrent(_ delivery: Delivery) -> Bool { self.state.withLockedValue { $0.isCurrent(delivery) } }

    /// Runs a change under the lock, and then resumes the waiters it served.
    func change(_ body: (inout InMemoryBrokerState) -> Void) {
        let wakeups = self.state.withLockedValue { state in
            body(&state)
            return state.takeWakeups()
        }
        for wakeup in wakeups { wakeup.continuation.resume(with: wakeup.result) }
    }
}

// MARK: - What can happen to a broker

extension InMemoryBroker {
    /// Makes the broker unavailable, or available again.
    ///
    /// While it is unavailable nothing is published or delivered. Unacknowledged deliveries return to their queues with
    /// a count one higher, and exclusive queues lose their messages.
    package func setUnavailable(_ unavailable: Bool) {
        self.change { $0.setUnavailable(unavailable) }
    }

    /// While it is silent nothing that is published is answered before its deadline.
    package func setSilent(_ silent: Bool) {
        self.change { $0.isSilent = silent }
    }

    /// Raises the broker's alarm for a reason, or clears it with nil: messages are refused, deliveries go on.
    package func setBlocked(_ reason: String?) {
        self.change { $0.blocked = reason }
    }

    /// Makes a queue refuse every message, as a full one does, or accept them again with nil.
    ///
    /// - Parameters:
    ///   - queue: The queue.
    ///   - pause: When to try again, by the broker's words.
    package func setRefusing(_ queue: String, retryAfter pause: Duration?) {
        self.change { $0.refusing[queue] = pause }
    }

    /// How many messages were refused by queues.
    package var refused: Int { self.state.withLockedValue { $0.refused } }

    /// Cuts every connection; they come back at once, and every delivery not yet acknowledged comes again.
    package func redeliver() {
        self.change { $0.loseConnections() }
    }

    /// Takes the next messages but answers `timeout` for each, as when the connection is lost before the confirm comes.
    ///
    /// - Parameter count: How many messages.
    package func loseConfirms(_ count: Int) {
        self.change { $0.confirmsToLose = count }
    }

    /// How many messages are waiting in a queue, without those handed out; 0 if there is no such queue.
    package func ready(in queue: String) -> Int {
        self.state.withLockedValue { $0.queues[queue]?.ready.count ?? 0 }
    }

    /// How many messages of a queue were handed out and not yet acknowledged.
    package func unacknowledged(in queue: String) -> Int {
        self.state.withLockedValue { state in
            state.consumers.values.reduce(0) { $0 + ($1.queue == queue ? $1.unacknowledged.count : 0) }
        }
    }
}

/// A consumer at an ``InMemoryBroker``.
struct InMemorySubscription: Subscription {
    let broker: InMemoryBroker
    let id: Int

    func next() async throws -> Delivery? {
        let waiter = InMemoryBrokerState.Waiter.ID()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                self.broker.change { $0.wait(consumer: self.id, waiter: waiter, continuation) }
            }
        } onCancel: {
            self.broker.change { $0.cancel(consumer: self.id, waiter: waiter) }
        }
    }

    func acknowledge(_ deliveries: [Delivery]) async {
        self.broker.change { $0.acknowledge(deliveries, consumer: self.id) }
    }

    func isCurrent(_ delivery: Delivery) -> Bool { self.broker.isCurrent(delivery) }

    func stop() async {
        self.broker.change { $0.stop(self.id) }
    }
}
