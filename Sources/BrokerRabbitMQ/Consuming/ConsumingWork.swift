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
        /// When the broker was asked to subscribe; nil = it has answered.
        var asked: ContinuousClock.Instant? = .now
        var window = AcknowledgementWindow()
        var assembly: DeliveryAssembly?
        /// Acknowledgements that found no room in the socket's buffer.
        var frames: [AcknowledgementWindow.Frame] = []
    }

    /// The shortest and the longest time before a subscription is tried again that the broker did not answer.
    private static let pause = Duration.seconds(1)...Duration.seconds(10)

    let mailbox: ConsumerMailbox
    /// How long the broker may take to answer.
    private let patience: Duration
    let logger: Logger
    /// The channel for declaring: a fault closes the channel it happens on.
    var control: UInt16 = 0
    var numbers = ChannelNumbers(most: 0)
    private let delivered = MetricDescription.brokerDelivered.counter()
    private let acknowledged = MetricDescription.brokerAcknowledged.counter()
    private var channels: [UInt16: Channel] = [:]
    private var subscriptions: [RabbitMQSubscription] = []
    private var lastGeneration: UInt64 = 0
    /// Subscriptions that the broker did not answer in time, and when they are tried again.
    private var unanswered: [(subscription: RabbitMQSubscription, due: ContinuousClock.Instant)] = []
    private var unansweredPause = Backoff(Self.pause)
    /// Asked for while there was no connection; they wait for the outcome of the attempt that is due.
    private var declarations: [(Topology, CheckedContinuation<Void, any Error>)] = []
    /// Queues that were asked for meanwhile; likewise.
    private var measurements: [(String, CheckedContinuation<QueueDepth, any Error>)] = []

    init(_ mailbox: ConsumerMailbox, patience: Duration, logger: Logger) {
        self.mailbox = mailbox
        self.patience = patience
        self.logger = logger
    }

    mutating func begin(_ connection: AMQPConnection) throws(BrokerError) {
        self.numbers = ChannelNumbers(most: connection.mostChannels)
        try self.openControl(connection)
        let topology = self.mailbox.topology
        for exchange in topology.exchanges { try self.declareAgain(Topology(exchanges: [exchange]), connection) }
        for queue in topology.queues { try self.declareAgain(Topology(queues: [queue]), connection) }
        while let (topology, continuation) = self.declarations.popLast() {
            try self.declare(topology, connection, continuation)
        }
        while let (queue, continuation) = self.measurements.popLast() {
            try self.measure(queue, connection, continuation)
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
        let didEnd = try self.endUnanswered(connection)
        let didAttach = try self.attachAgain(connection)
        // A request reads ahead: frames behind its answer are in the library, where `poll` does not see them.
        return TurnOutcome(
            isUnfinished: isMoreToRead || didRequest || didEnd || didAttach,
            waitsForSocket: waitsForSocket,
            due: self.nextDue
        )
    }

    mutating func lost(_ error: BrokerError, isAttemptFollowing: Bool) {
        self.lastGeneration += 1
        self.channels.removeAll()
        self.unanswered.removeAll()
        for subscription in self.subscriptions { subscription.begin(generation: self.lastGeneration) }
        self.callWithoutConnection()
        guard !isAttemptFollowing else { return }
        for (topology, _) in self.declarations { self.mailbox.remember(topology) }
        self.refuseAsked(error)
    }

    /// Answers those who have asked while there was no connection.
    private mutating func refuseAsked(_ error: BrokerError) {
        for (_, continuation) in self.declarations { continuation.resume(throwing: error) }
        for (_, continuation) in self.measurements { continuation.resume(throwing: error) }
        self.declarations.removeAll()
        self.measurements.removeAll()
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
            case .measure(let queue, let continuation):
                if case .down(let error) = self.mailbox.link.state {
                    continuation.resume(throwing: error)
                } else {
                    self.measurements.append((queue, continuation))
                }
            case .stop:
                break
            }
        }
    }

    mutating func end() {
        self.mailbox.end()
        self.refuseAsked(.closed)
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
            try self.close(channel, connection)
        }
    }

    private mutating func forget(_ subscription: RabbitMQSubscription) {
        self.subscriptions.removeAll { $0 === subscription }
        self.unanswered.removeAll { $0.subscription === subscription }
    }

    /// Closes a subscription's channel; what it has not acknowledged is on its way back then.
    private mutating func close(_ channel: UInt16, _ connection: AMQPConnection) throws(BrokerError) {
        guard let state = self.channels.removeValue(forKey: channel) else { return }
        if state.asked != nil {
            // It would not answer this either, and has sent nothing.
            try connection.endChannel(channel)
        } else if try connection.closeChannel(channel) {
            self.numbers.free(channel)
        }
    }

    private func channel(of subscription: RabbitMQSubscription) -> UInt16? {
        self.channels.first { $0.value.subscription === subscription }?.key
    }

    private mutating func attach(
        _ subscription: RabbitMQSubscription,
        _ connection: AMQPConnection
    ) throws(BrokerError) {
        let channel = try self.numbers.take()
        self.lastGeneration += 1
        subscription.begin(generation: self.lastGeneration)
        try Self.required { () throws(AMQPFailure) in try connection.openChannel(channel) }
        self.channels[channel] = Channel(subscription: subscription, generation: self.lastGeneration)
        try connection.subscribe(queue: subscription.queue, prefetch: subscription.prefetch, channel: channel)
    }

    /// The broker has closed a channel.
    private mutating func channelClosed(
        _ channel: UInt16,
        _ connection: AMQPConnection,
        _ exception: ServerException
    ) throws(BrokerError) {
        guard let state = self.channels[channel] else {
            // We have ended it too, and its answer to that follows.
            return try connection.confirmChannelClosed(channel)
        }
        guard state.asked != nil else {
            throw BrokerError(.unreachable, "The broker closed a channel: \(exception.text).")
        }
        self.channels[channel] = nil
        try connection.confirmChannelClosed(channel)
        self.numbers.free(channel)
        self.forget(state.subscription)
        state.subscription.fail(AMQPFailure.channel(exception).brokerError)
        self.logger.debug(
            "The broker refuses a subscription",
            metadata: ["queue": "\(state.subscription.queue)", "error": "\(exception.text)"]
        )
    }

    /// Ends the channels of subscriptions that the broker does not answer, and nothing else: a queue without a majority.
    ///
    /// - Returns: Whether there was one.
    private mutating func endUnanswered(_ connection: AMQPConnection) throws(BrokerError) -> Bool {
        let now = ContinuousClock.now
        var didEnd = false
        for (channel, state) in self.channels {
            guard let asked = state.asked, now - asked >= self.patience else { continue }
            self.channels[channel] = nil
            try connection.endChannel(channel)
            self.unanswered.append((state.subscription, now + self.unansweredPause.next()))
            self.logger.warning(
                "The broker does not answer a subscription: most of the queue's members may be away; it is tried again",
                metadata: ["queue": "\(state.subscription.queue)"]
            )
            didEnd = true
        }
        return didEnd
    }

    /// - Returns: Whether a subscription was tried again.
    private mutating func attachAgain(_ connection: AMQPConnection) throws(BrokerError) -> Bool {
        let now = ContinuousClock.now
        guard let index = self.unanswered.firstIndex(where: { $0.due <= now }) else { return false }
        try self.attach(self.unanswered.remove(at: index).subscription, connection)
        return true
    }

    /// When a subscription is overdue, or is to be tried again.
    private var nextDue: ContinuousClock.Instant? {
        let overdue = self.channels.values.lazy.compactMap(\.asked).map { $0 + self.patience }
        return [overdue.min(), self.unanswered.lazy.map(\.due).min()].compactMap { $0 }.min()
    }

    /// Cancels the consumer, and returns messages that were not handed out.
    private mutating func stop(
        _ subscription: RabbitMQSubscription,
        _ connection: AMQPConnection
    ) throws(BrokerError) {
        guard let channel = self.channel(of: subscription) else {
            self.unanswered.removeAll { $0.subscription === subscription }
            return
        }
        guard self.channels[channel]?.asked == nil else { return try self.close(channel, connection) }
        do throws(AMQPFailure) { try connection.cancelConsumer(channel) } catch {
            guard case .timeout = error else { throw error.brokerError }
            // Its messages come again when it is over.
            self.channels[channel] = nil
            return try connection.endChannel(channel)
        }
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
        case .subscribed(let channel):
            self.channels[channel]?.asked = nil
            self.unansweredPause.reset()
        case .channelClosed(let channel, let exception):
            try self.channelClosed(channel, connection, exception)
        case .channelEnded(let channel):
            self.numbers.free(channel)
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
