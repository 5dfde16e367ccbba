import Broker
import DequeModule
import NIOConcurrencyHelpers

/// A consumer of one queue, as its reader has it; the consuming thread fills it.
final class RabbitMQSubscription: Subscription {
    /// One call of `next()`, known by its identity.
    private final class WaiterID: Sendable {}

    private struct Waiter {
        let id: WaiterID
        let continuation: CheckedContinuation<Delivery?, any Error>
    }

    private struct Shared {
        /// Messages received and not handed out; the prefetch bounds them.
        var buffer = Deque<Delivery>()
        var waiters = Deque<Waiter>()
        /// The channel's number; 0 while there is none.
        var generation: UInt64 = 0
        var acknowledged: [UInt64] = []
        var isStopped = false
        var failure: BrokerError?
    }

    /// The result of `next()`.
    private enum Found {
        case delivery(Delivery?)
        case failure(any Error)
        case nothing
    }

    let queue: String
    let prefetch: Int
    private let mailbox: ConsumerMailbox
    private let shared = NIOLockedValueBox(Shared())

    init(queue: String, prefetch: Int, mailbox: ConsumerMailbox) {
        self.queue = queue
        self.prefetch = prefetch
        self.mailbox = mailbox
    }

    // MARK: - The reader's side

    func next() async throws -> Delivery? {
        switch self.shared.withLockedValue({ Self.find(in: &$0) }) {
        case .delivery(let delivery): return delivery
        case .failure(let error): throw error
        case .nothing: break
        }
        let id = WaiterID()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                self.wait(Waiter(id: id, continuation: continuation))
            }
        } onCancel: {
            let waiter = self.shared.withLockedValue { shared -> Waiter? in
                guard let index = shared.waiters.firstIndex(where: { $0.id === id }) else { return nil }
                return shared.waiters.remove(at: index)
            }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }

    private func wait(_ waiter: Waiter) {
        let found = self.shared.withLockedValue { shared -> Found in
            // Looked at under the lock: a cancellation that comes later finds the waiter.
            let found = Self.find(in: &shared)
            if case .nothing = found { shared.waiters.append(waiter) }
            return found
        }
        switch found {
        case .delivery(let delivery): waiter.continuation.resume(returning: delivery)
        case .failure(let error): waiter.continuation.resume(throwing: error)
        case .nothing: break
        }
    }

    private static func find(in shared: inout Shared) -> Found {
        if Task.isCancelled { return .failure(CancellationError()) }
        if shared.isStopped { return .delivery(nil) }
        if let failure = shared.failure { return .failure(failure) }
        if let delivery = shared.buffer.popFirst() { return .delivery(delivery) }
        return .nothing
    }

    func acknowledge(_ deliveries: [Delivery]) async {
        let isFirst = self.shared.withLockedValue { shared in
            let wasEmpty = shared.acknowledged.isEmpty
            for delivery in deliveries where delivery.generation == shared.generation {
                shared.acknowledged.append(delivery.tag)
            }
            return wasEmpty && !shared.acknowledged.isEmpty
        }
        if isFirst { self.mailbox.acknowledged(self) }
    }

    func isCurrent(_ delivery: Delivery) -> Bool {
        self.shared.withLockedValue { $0.generation == delivery.generation }
    }

    func stop() async {
        self.stopNow()
    }

    func stopNow() {
        let waiters = self.shared.withLockedValue { shared -> Deque<Waiter>? in
            guard !shared.isStopped else { return nil }
            shared.isStopped = true
            defer { shared.waiters = [] }
            return shared.waiters
        }
        guard let waiters else { return }
        for waiter in waiters { waiter.continuation.resume(returning: nil) }
        self.mailbox.send(.stop(self))
    }

    // MARK: - The thread's side

    var isStopped: Bool { self.shared.withLockedValue { $0.isStopped } }

    /// A channel was opened: messages of an earlier one are void.
    func begin(generation: UInt64) {
        self.shared.withLockedValue { shared in
            shared.buffer.removeAll()
            shared.acknowledged.removeAll()
            shared.generation = generation
        }
    }

    func deliver(_ delivery: Delivery) {
        let waiter = self.shared.withLockedValue { shared -> Waiter? in
            if !shared.isStopped, let waiter = shared.waiters.popFirst() { return waiter }
            shared.buffer.append(delivery)
            return nil
        }
        waiter?.continuation.resume(returning: delivery)
    }

    func takeAcknowledged() -> [UInt64] {
        self.shared.withLockedValue { shared in
            defer { shared.acknowledged = [] }
            return shared.acknowledged
        }
    }

    /// The tags of messages that were not handed out.
    func takeUndelivered() -> [UInt64] {
        self.shared.withLockedValue { shared in
            defer { shared.buffer = [] }
            return shared.buffer.map(\.tag)
        }
    }

    /// Nothing more will come: the queue is not there, or the broker object was shut down.
    func fail(_ error: BrokerError) {
        let waiters = self.shared.withLockedValue { shared in
            shared.failure = error
            defer { shared.waiters = [] }
            return shared.waiters
        }
        for waiter in waiters { waiter.continuation.resume(throwing: error) }
    }
}
