import Broker
import DequeModule
import Logging
import Metrics
import PushlineMetrics

/// Declares, and serves subscriptions: one channel each, on one connection.
struct ConsumingWork: ConnectionWork {
    /// A subscription's channel.
    private struct Channel {
        let subscription: RabbitMQSubscription
        let generation: UInt64
        var window = AcknowledgementWindow()
        var assembly: DeliveryAssembly?
        /// Acknowledgements that found no room in the socket's buffer.
        var frames: [AcknowledgementWindow.Frame] = []
    }

    /// For declaring: a fault closes the channel it happens on.
    private static let control: UInt16 = 1

    private let mailbox: ConsumerMailbox
    private let logger: Logger
    private let delivered = MetricDescription.brokerDelivered.counter()
    private let acknowledged = MetricDescription.brokerAcknowledged.counter()
    private var channels: [UInt16: Channel] = [:]
    private var subscriptions: [RabbitMQSubscription] = []
    private var lastGeneration: UInt64 = 0
    /// Asked for while there was no connection; they wait for the outcome of the attempt that is due.
    private var declarations: [(Topology, CheckedContinuation<Void, any Error>)] = []

    init(_ mailbox: ConsumerMailbox, logger: Logger) {
        self.mailbox = mailbox
        self.logger = logger
    }

    mutating func begin(_ connection: AMQPConnection) throws(BrokerError) {
        try Self.required { () throws(RequestFailure) in try connection.openChannel(Self.control) }
        let topology = self.mailbox.topology
        for exchange in topology.exchanges { try self.declareAgain(Topology(exchanges: [exchange]), connection) }
        for queue in topology.queues { try self.declareAgain(Topology(queues: [queue]), connection) }
        while let (topology, continuation) = self.declarations.popLast() {
            try self.declare(topology, connection, continuation)
        }
        for subscription in self.subscriptions where !subscription.isStopped {
            try self.attach(subscription, connection)
        }
    }

    mutating func turn(_ connection: AMQPConnection) throws(BrokerError) -> TurnOutcome {
        let isMoreToRead = try self.readFrames(connection, limit: 1000)
        // In this order: an acknowledgement that was handed over before its subscription ended counts.
        let waitsForSocket = try self.sendAcknowledgements(connection)
        var didRequest = false
        while let command = self.mailbox.takeCommand() {
            try self.execute(command, connection)
            didRequest = true
        }
        // A request reads ahead: frames behind its answer are in the library, where `poll` does not see them.
        return TurnOutcome(isUnfinished: isMoreToRead || didRequest, waitsForSocket: waitsForSocket)
    }

    mutating func lost(_ error: BrokerError, isAttemptFollowing: Bool) {
        self.lastGeneration += 1
        self.channels.removeAll()
        for subscription in self.subscriptions { subscription.begin(generation: self.lastGeneration) }
        self.callWithoutConnection()
        guard !isAttemptFollowing else { return }
        for (topology, continuation) in self.declarations {
            self.mailbox.remember(topology)
            continuation.resume(throwing: error)
        }
        self.declarations.removeAll()
    }

    mutating func callWithoutConnection() {
        // Their channels are gone, and the broker delivers their messages again.
        for subscription in self.mailbox.takeAcknowledged() { _ = subscription.takeAcknowledged() }
        for command in self.mailbox.takeCommands() {
            switch command {
            case .attach(let subscription):
                self.subscriptions.append(subscription)
            case .detach(let subscription, let continuation):
                self.forget(subscription)
                continuation.resume()
            case .declare(let topology, let continuation):
                self.declarations.append((topology, continuation))
            case .measure(_, let continuation):
                continuation.resume(throwing: BrokerError(.unreachable, "There is no connection to the broker."))
            case .stop:
                break
            }
        }
    }

    mutating func end() {
        self.mailbox.end()
        for (_, continuation) in self.declarations { continuation.resume(throwing: BrokerError.closed) }
        self.declarations.removeAll()
        for subscription in self.subscriptions { subscription.fail(.closed) }
        self.subscriptions.removeAll()
    }

    // MARK: - Commands

    private mutating func execute(_ command: ConsumerMailbox.Command, _ connection: AMQPConnection) throws(BrokerError)
    {
        switch command {
        case .declare(let topology, let continuation):
            try self.declare(topology, connection, continuation)
        case .measure(let queue, let continuation):
            try self.measure(queue, connection, continuation)
        case .attach(let subscription):
            self.subscriptions.append(subscription)
            try self.attach(subscription, connection)
        case .stop(let subscription):
            try self.stop(subscription, connection)
        case .detach(let subscription, let continuation):
            defer { continuation.resume() }
            // Some may have been handed over since this turn looked.
            _ = try self.sendAcknowledgements(connection)
            self.forget(subscription)
            guard let channel = self.channel(of: subscription) else { return }
            self.channels[channel] = nil
            try connection.closeChannel(channel)
        }
    }

    private mutating func forget(_ subscription: RabbitMQSubscription) {
        self.subscriptions.removeAll { $0 === subscription }
    }

    private func channel(of subscription: RabbitMQSubscription) -> UInt16? {
        self.channels.first { $0.value.subscription === subscription }?.key
    }

    private mutating func attach(
        _ subscription: RabbitMQSubscription,
        _ connection: AMQPConnection
    ) throws(BrokerError) {
        guard let channel = (2...UInt16.max).first(where: { self.channels[$0] == nil }) else { return }
        self.lastGeneration += 1
        subscription.begin(generation: self.lastGeneration)
        self.channels[channel] = Channel(subscription: subscription, generation: self.lastGeneration)
        do throws(RequestFailure) {
            try connection.openChannel(channel)
            try connection.consume(queue: subscription.queue, prefetch: subscription.prefetch, channel: channel)
        } catch {
            self.channels[channel] = nil
            guard case .channel(let exception) = error else { throw error.brokerError }
            try connection.confirmChannelClosed(channel)
            self.forget(subscription)
            subscription.fail(error.brokerError)
            let metadata: Logger.Metadata = ["queue": "\(subscription.queue)", "error": "\(exception.text)"]
            self.logger.debug("The broker refuses a subscription", metadata: metadata)
        }
    }

    /// Cancels the consumer, and returns messages that were not handed out.
    private mutating func stop(
        _ subscription: RabbitMQSubscription,
        _ connection: AMQPConnection
    ) throws(BrokerError) {
        guard let channel = self.channel(of: subscription) else { return }
        try Self.required { () throws(RequestFailure) in try connection.cancelConsumer(channel) }
        // Messages in flight when the broker was told arrived before its answer.
        while connection.hasQueuedFrames, let frame = try connection.nextFrame() { try self.handle(frame, connection) }
        let tags = subscription.takeUndelivered()
        // They are done with; later acknowledgements must not name them. Giving back raises `x-delivery-count`, but on
        // RabbitMQ 3.10 a closed channel does so too, and it would also give back what is being worked on.
        let frames = self.channels[channel]?.window.release(tags) ?? []
        for tag in frames { try connection.requeue(tag, channel: channel) }
    }

    // MARK: - Acknowledging

    /// - Returns: Whether some wait for room in the socket's buffer.
    private mutating func sendAcknowledgements(_ connection: AMQPConnection) throws(BrokerError) -> Bool {
        for subscription in self.mailbox.takeAcknowledged() {
            let tags = subscription.takeAcknowledged()
            guard let channel = self.channel(of: subscription) else { continue }
            let frames = self.channels[channel]?.window.acknowledge(tags) ?? []
            self.channels[channel]?.frames.append(contentsOf: frames)
            self.acknowledged.increment(by: tags.count)
        }
        var waitsForSocket = false
        for (channel, state) in self.channels where !state.frames.isEmpty {
            connection.setCorked(true)
            defer { connection.setCorked(false) }
            var sent = 0
            for frame in state.frames {
                guard connection.hasCapacity(for: 32) else { break }
                try connection.acknowledge(frame, channel: channel)
                sent += 1
            }
            self.channels[channel]?.frames.removeFirst(sent)
            if sent < state.frames.count { waitsForSocket = true }
        }
        return waitsForSocket
    }

    // MARK: - Reading

    /// - Returns: Whether there may be more.
    private mutating func readFrames(_ connection: AMQPConnection, limit: Int) throws(BrokerError) -> Bool {
        for _ in 0..<limit {
            guard let frame = try connection.nextFrame() else { return false }
            try self.handle(frame, connection)
        }
        return true
    }

    private mutating func handle(_ frame: IncomingFrame, _ connection: AMQPConnection) throws(BrokerError) {
        switch frame {
        case .delivery(let channel, let tag, let isRedelivered):
            self.channels[channel]?.assembly = DeliveryAssembly(tag: tag, isRedelivered: isRedelivered)
        case .header(let channel, let header):
            self.channels[channel]?.assembly?.begin(header)
            self.deliverIfComplete(channel)
        case .body(let channel, let octets):
            self.channels[channel]?.assembly?.append(octets)
            self.deliverIfComplete(channel)
        case .consumerCancelled(let channel):
            let queue = self.channels[channel]?.subscription.queue ?? ""
            throw BrokerError(.unreachable, "The broker ended the subscription to \(queue).")
        case .channelClosed(_, let exception):
            throw BrokerError(.unreachable, "The broker closed a channel: \(exception.text).")
        case .connectionClosed(let exception):
            connection.confirmConnectionClosed()
            throw BrokerError(.unreachable, "The broker closed the connection: \(exception.text).")
        case .confirm, .returned, .blocked, .unblocked, .other:
            break
        }
    }

    private mutating func deliverIfComplete(_ channel: UInt16) {
        guard let state = self.channels[channel], let assembly = state.assembly,
            let delivery = assembly.delivery(generation: state.generation)
        else { return }
        self.channels[channel]?.assembly = nil
        self.delivered.increment()
        state.subscription.deliver(delivery)
    }
}

// MARK: - Declaring

extension ConsumingWork {
    private func declare(
        _ topology: Topology,
        _ connection: AMQPConnection,
        _ continuation: CheckedContinuation<Void, any Error>
    ) throws(BrokerError) {
        do throws(RequestFailure) {
            try Self.declare(topology, connection)
            self.mailbox.remember(topology)
            continuation.resume()
        } catch {
            continuation.resume(throwing: error.brokerError)
            guard case .channel = error else { throw error.brokerError }
            try self.reopenControl(connection)
        }
    }

    /// Declares the topology; queues that exist with other arguments are skipped.
    private func declareAgain(_ topology: Topology, _ connection: AMQPConnection) throws(BrokerError) {
        do throws(RequestFailure) {
            try Self.declare(topology, connection)
        } catch {
            guard case .channel(let exception) = error else { throw error.brokerError }
            // An exclusive queue is locked until the broker has noticed the end of our old connection.
            guard exception.code != ServerException.resourceLocked else { throw error.brokerError }
            self.logger.warning("A queue cannot be declared", metadata: ["error": "\(exception.text)"])
            try self.reopenControl(connection)
        }
    }

    private func measure(
        _ queue: String,
        _ connection: AMQPConnection,
        _ continuation: CheckedContinuation<QueueDepth, any Error>
    ) throws(BrokerError) {
        do throws(RequestFailure) {
            continuation.resume(returning: try connection.depth(of: queue, channel: Self.control))
        } catch {
            continuation.resume(throwing: error.brokerError)
            guard case .channel = error else { throw error.brokerError }
            try self.reopenControl(connection)
        }
    }

    private func reopenControl(_ connection: AMQPConnection) throws(BrokerError) {
        try connection.confirmChannelClosed(Self.control)
        try Self.required { () throws(RequestFailure) in try connection.openChannel(Self.control) }
    }

    private static func declare(_ topology: Topology, _ connection: AMQPConnection) throws(RequestFailure) {
        for exchange in topology.exchanges {
            try connection.declareExchange(exchange, channel: Self.control)
        }
        for queue in topology.queues {
            try connection.declareQueue(queue, channel: Self.control)
            if let exchange = queue.exchange {
                try connection.bind(queue: queue.name, exchange: exchange, channel: Self.control)
            }
        }
    }

    /// For requests without which the connection is of no use.
    private static func required(_ request: () throws(RequestFailure) -> Void) throws(BrokerError) {
        do throws(RequestFailure) {
            try request()
        } catch {
            throw error.brokerError
        }
    }
}

extension RequestFailure {
    /// The failure as callers see it; the broker's words name the queue and the argument.
    var brokerError: BrokerError {
        switch self {
        case .connection(let error): error
        case .channel(let exception):
            switch exception.code {
            case ServerException.preconditionFailed:
                BrokerError(.mismatch, "It exists with other arguments: \(exception.text).")
            case ServerException.accessRefused, ServerException.resourceLocked:
                BrokerError(.refused, "The broker refuses it: \(exception.text).")
            default:
                BrokerError(.protocolFault, "The broker refuses it: \(exception.text).")
            }
        }
    }
}
