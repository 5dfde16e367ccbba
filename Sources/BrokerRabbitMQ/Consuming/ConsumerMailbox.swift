import Broker
import DequeModule
import NIOConcurrencyHelpers

/// Commands from callers for the consuming thread.
final class ConsumerMailbox: Sendable {
    enum Command {
        case declare(Topology, CheckedContinuation<Void, any Error>)
        case measure(String, CheckedContinuation<QueueDepth, any Error>)
        case attach(RabbitMQSubscription)
        case stop(RabbitMQSubscription)
        /// Answered when the subscription's channel is closed.
        case detach(RabbitMQSubscription, CheckedContinuation<Void, Never>)
    }

    private struct Shared {
        var commands = Deque<Command>()
        var acknowledged: [RabbitMQSubscription] = []
        /// All that was declared or is to be, for every new connection.
        var topology = Topology()
        var isEnded = false
    }

    let link = ConnectionLink()
    private let shared = NIOLockedValueBox(Shared())

    /// The topology declared on every new connection.
    var topology: Topology { self.shared.withLockedValue { $0.topology } }

    func declare(_ topology: Topology) async throws {
        if case .down(let error) = self.link.state {
            // Declared as soon as the broker is there.
            self.remember(topology)
            throw error
        }
        try await withCheckedThrowingContinuation { continuation in
            self.send(.declare(topology, continuation))
        }
    }

    func remember(_ topology: Topology) {
        self.shared.withLockedValue { shared in
            for exchange in topology.exchanges where !shared.topology.exchanges.contains(exchange) {
                shared.topology.exchanges.append(exchange)
            }
            for queue in topology.queues {
                if let index = shared.topology.queues.firstIndex(where: { $0.name == queue.name }) {
                    shared.topology.queues[index] = queue
                } else {
                    shared.topology.queues.append(queue)
                }
            }
        }
    }

    /// Whether the queue was declared here, or is to be.
    func knows(_ queue: String) -> Bool {
        self.shared.withLockedValue { shared in shared.topology.queues.contains { $0.name == queue } }
    }

    func send(_ command: Command) {
        let isRefused = self.shared.withLockedValue { shared in
            if !shared.isEnded { shared.commands.append(command) }
            return shared.isEnded
        }
        if isRefused { Self.refuse(command, .closed) } else { self.link.wake() }
    }

    func acknowledged(_ subscription: RabbitMQSubscription) {
        self.shared.withLockedValue { $0.acknowledged.append(subscription) }
        self.link.wake()
    }

    // MARK: - The thread's side

    func takeAcknowledged() -> [RabbitMQSubscription] {
        self.shared.withLockedValue { shared in
            defer { shared.acknowledged = [] }
            return shared.acknowledged
        }
    }

    /// The next command, one at a time: commands behind one that ends the connection wait for the next connection.
    func takeCommand() -> Command? {
        self.shared.withLockedValue { $0.commands.popFirst() }
    }

    func takeCommands() -> Deque<Command> {
        self.shared.withLockedValue { shared in
            defer { shared.commands = [] }
            return shared.commands
        }
    }

    /// Refuses waiting and further commands.
    func end() {
        let commands = self.shared.withLockedValue { shared in
            shared.isEnded = true
            defer { shared.commands = [] }
            return shared.commands
        }
        for command in commands { Self.refuse(command, .closed) }
    }

    static func refuse(_ command: Command, _ error: BrokerError) {
        switch command {
        case .declare(_, let continuation): continuation.resume(throwing: error)
        case .measure(_, let continuation): continuation.resume(throwing: error)
        case .attach(let subscription): subscription.fail(error)
        case .stop: break
        case .detach(_, let continuation): continuation.resume()
        }
    }
}
