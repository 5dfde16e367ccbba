import Broker
import DequeModule
import Logging
import Metrics
import PushlineMetrics

/// Publishes with confirms: many callers' messages through one channel, and a window of them under way.
///
/// **A refusal** (nack) ends the channel, and another follows after a pause: RabbitMQ 3.10 may refuse every message for ever on a
/// channel whose first publish found a queue's old leader gone. A queue that refuses on the next channel too has another reason,
/// such as a limit or a lost majority. It is left alone: it gets a lane of its own for as long as the connection lasts, and
/// its messages fail at once while that rests, so that its callers can defer them; the other queues keep their channel. So does
/// one that says nothing: that is how a queue without a majority is where its leader is there still.
struct PublishingWork: ConnectionWork {
    /// The lane of all queues that have no other.
    private static let shared = 0

    private let mailbox: PublisherMailbox
    private let configuration: RabbitMQConfiguration
    private let logger: Logger
    private var lanes: [PublishingLane]
    /// Where the next message is looked for: each lane has its turn.
    private var turn = 0
    private var numbers = ChannelNumbers(most: 0)
    /// The message that is half sent, and its lane.
    private var outgoing: (message: AMQPConnection.Outgoing, lane: Int)?
    private var refusals = QueueRefusals()
    /// When an alarm of the broker's ended: until then it confirmed nothing.
    private var unblocked = ContinuousClock.now
    /// How often the shared lane got a channel.
    private var sharedChannels: UInt64 = 0
    private var answered: [PublishRequest] = []

    init(_ mailbox: PublisherMailbox, configuration: RabbitMQConfiguration, logger: Logger) {
        self.mailbox = mailbox
        self.configuration = configuration
        self.logger = logger
        self.lanes = [PublishingLane(queue: nil, pause: configuration.refusalPause)]
    }

    mutating func begin(_ connection: AMQPConnection) throws(BrokerError) {
        self.numbers = ChannelNumbers(most: connection.mostChannels)
        try self.open(Self.shared, connection)
    }

    mutating func turn(_ connection: AMQPConnection) throws(BrokerError) -> TurnOutcome {
        for request in self.mailbox.takeIncoming() { self.take(request) }
        // Before anything is sent: it also renews the receive deadline of the heartbeats.
        let isMoreToRead = try self.readFrames(connection)
        let waitsForSocket = try self.sendMessages(connection)
        self.judgeSilence()
        let didOpen = try self.replaceChannels(connection)
        self.mailbox.forget(self.answered)
        self.answered.removeAll(keepingCapacity: true)
        return TurnOutcome(
            isUnfinished: isMoreToRead || didOpen,
            waitsForSocket: waitsForSocket,
            due: self.lanes.compactMap { self.due($0) }.min()
        )
    }

    /// When a lane has something to do though nothing happens until then.
    private func due(_ lane: PublishingLane) -> ContinuousClock.Instant? {
        if lane.isResting { return lane.waiting.isEmpty ? nil : lane.restsUntil }
        guard case .connected = self.mailbox.link.state, !lane.isCondemned, let oldest = lane.window.oldest else {
            return nil
        }
        return max(oldest.sent, self.unblocked) + self.configuration.confirmTimeout
    }

    /// Gives a queue that confirms nothing a lane of its own: its messages would fill the window of all.
    private mutating func judgeSilence() {
        let now = ContinuousClock.now
        for index in self.lanes.indices {
            let lane = self.lanes[index]
            guard !lane.isResting, let due = self.due(lane), due <= now, let oldest = lane.window.oldest else {
                continue
            }
            let queue = oldest.item.message.destination
            _ = self.refusals.note(queue, channel: self.sharedChannels, now: now)
            self.lanes[index].condemn()
            if lane.queue == nil, self.lane(for: oldest.item.message) == Self.shared {
                self.isolate(
                    queue,
                    "A queue does not confirm messages: most of its members are away, or it is overloaded"
                )
            }
        }
    }

    mutating func lost(_ error: BrokerError, isAttemptFollowing: Bool) {
        self.outgoing = nil
        for lane in self.lanes.indices { self.failWindow(lane, error) }
        let waiting = self.lanes.map(\.waiting)
        self.lanes = [PublishingLane(queue: nil, pause: self.configuration.refusalPause)]
        self.mailbox.forget(self.answered)
        self.answered.removeAll()
        if isAttemptFollowing {
            for items in waiting { self.lanes[Self.shared].waiting.append(contentsOf: items) }
        } else {
            self.mailbox.endAll(error)
        }
    }

    mutating func callWithoutConnection() {
        // Requests made while an attempt is due wait for its result.
    }

    mutating func end() {
        self.mailbox.endAll(.closed)
    }

    // MARK: - Channels

    private mutating func open(_ lane: Int, _ connection: AMQPConnection) throws(BrokerError) {
        let channel = try self.numbers.take(replacing: self.lanes[lane].previous)
        do throws(AMQPFailure) {
            try connection.openChannel(channel)
            try connection.selectConfirms(channel)
        } catch {
            switch error {
            case .connection(let error), .timeout(let error): throw error
            case .channel(let exception): throw BrokerError(.unreachable, exception.text)
            }
        }
        self.lanes[lane].opened(channel)
        if lane == Self.shared { self.sharedChannels += 1 }
    }

    /// Ends the channels on which a message was refused, and opens those of which the rest is over.
    ///
    /// - Returns: Whether one was opened, which may have read frames ahead.
    private mutating func replaceChannels(_ connection: AMQPConnection) throws(BrokerError) -> Bool {
        var didOpen = false
        for index in self.lanes.indices {
            let lane = self.lanes[index]
            if lane.isCondemned, self.outgoing?.lane != index, let channel = lane.channel {
                // Its number stays taken until the broker has answered: refusals of this channel may still come.
                try connection.endChannel(channel)
                self.rest(index)
            } else if lane.isResting, lane.restsUntil <= .now, lane.queue == nil || !lane.waiting.isEmpty {
                try self.open(index, connection)
                didOpen = true
            }
        }
        return didOpen
    }

    private mutating func rest(_ index: Int) {
        MetricDescription.brokerChannelsReplaced.counter().increment()
        let error = BrokerError(.unreachable, "The channel was closed before the broker confirmed the message.")
        self.failWindow(index, error)
        self.lanes[index].rest()
        guard let queue = self.lanes[index].queue else { return }
        let waiting = self.lanes[index].waiting
        self.lanes[index].waiting.removeAll()
        for item in waiting { self.refuse(item, by: queue) }
    }

    /// Gives a queue a lane of its own, which rests first.
    private mutating func isolate(_ queue: String, _ reason: Logger.Message) {
        self.logger.warning(reason, metadata: ["queue": "\(queue)"])
        var lane = PublishingLane(queue: queue, pause: self.configuration.refusalPause)
        lane.rest()
        self.lanes.append(lane)
        let waiting = self.lanes[Self.shared].waiting
        self.lanes[Self.shared].waiting.removeAll { $0.message.destination == queue }
        for item in waiting where item.message.destination == queue { self.refuse(item, by: queue) }
    }

    // MARK: - Sending

    private mutating func take(_ request: PublishRequest) {
        for index in request.messages.indices {
            let item = PublishingLane.Item(request: request, index: index)
            let lane = self.lane(for: request.messages[index])
            if let queue = self.lanes[lane].queue, self.lanes[lane].isResting, self.lanes[lane].restsUntil > .now {
                self.refuse(item, by: queue)
            } else {
                self.lanes[lane].waiting.append(item)
            }
        }
    }

    private func lane(for message: OutgoingMessage) -> Int {
        guard self.lanes.count > 1 else { return Self.shared }
        let queue = message.destination
        return self.lanes.firstIndex { $0.queue == queue } ?? Self.shared
    }

    /// Sends as many messages as the windows and the socket allow.
    ///
    /// - Returns: Whether the socket was the limit.
    private mutating func sendMessages(_ connection: AMQPConnection) throws(BrokerError) -> Bool {
        guard self.outgoing != nil || self.lanes.contains(where: { !$0.waiting.isEmpty }) else { return false }
        if case .blocked(let reason) = self.mailbox.link.state {
            // A message that is half sent waits: its frames cannot be taken back.
            self.failWaiting(.blocked(reason))
            guard self.outgoing != nil else { return false }
        }
        connection.setCorked(true)
        defer { connection.setCorked(false) }
        while let next = self.nextOutgoing() {
            var message = next.message
            let lane = next.lane
            self.outgoing = next
            guard let channel = self.lanes[lane].channel else { break }
            let isSent = try connection.send(&message, channel: channel)
            self.outgoing = isSent ? nil : (message, lane)
            if !isSent { return true }
        }
        return false
    }

    /// The message that is half sent, or the next one for which a lane has room.
    private mutating func nextOutgoing() -> (message: AMQPConnection.Outgoing, lane: Int)? {
        if let outgoing { return outgoing }
        for offset in 0..<self.lanes.count {
            let index = (self.turn + offset) % self.lanes.count
            guard self.lanes[index].hasRoom(self.configuration.confirmWindow) else { continue }
            while let item = self.lanes[index].waiting.popFirst() {
                guard !item.request.isAnswered else { continue }
                self.turn = index + 1
                let number = self.lanes[index].window.nextNumber
                self.lanes[index].window.append(PublishingLane.Pending(item: item))
                return (AMQPConnection.Outgoing(message: item.message, number: number), index)
            }
        }
        return nil
    }

    // MARK: - Reading

    /// - Returns: Whether there may be more.
    private mutating func readFrames(_ connection: AMQPConnection) throws(BrokerError) -> Bool {
        for _ in 0..<1000 {
            guard let frame = try connection.nextFrame() else { return false }
            try self.handle(frame, connection)
        }
        return true
    }

    private mutating func handle(_ frame: IncomingFrame, _ connection: AMQPConnection) throws(BrokerError) {
        switch frame {
        case .confirm(let channel, let tag, let multiple, let isPositive):
            // One of a channel that we have closed says nothing of the next.
            guard let lane = self.lane(of: channel) else { return }
            self.confirm(lane, tag, multiple: multiple, isPositive: isPositive)
        case .returned(let channel):
            guard let lane = self.lane(of: channel) else { return }
            self.lanes[lane].returning = (hasHeader: false, rest: 0)
        case .header(let channel, let header):
            guard let lane = self.lane(of: channel) else { return }
            self.returnedHeader(lane, header)
        case .body(let channel, let octets):
            guard let lane = self.lane(of: channel) else { return }
            guard let returning = self.lanes[lane].returning else { throw Self.unexpected }
            let rest = returning.rest - min(returning.rest, UInt64(octets.count))
            self.lanes[lane].returning = rest == 0 ? nil : (hasHeader: true, rest: rest)
        case .channelClosed(let channel, let exception):
            try self.channelClosed(channel, connection, exception)
        case .channelEnded(let channel):
            self.numbers.free(channel)
        case .connectionClosed(let exception):
            connection.confirmConnectionClosed()
            throw BrokerError(.unreachable, "The broker closed the connection: \(exception.text).")
        case .blocked(let reason):
            self.mailbox.link.set(.blocked(reason))
        case .unblocked:
            self.unblocked = .now
            self.mailbox.link.set(.connected)
        case .delivery, .subscribed, .consumerCancelled, .other:
            break
        }
    }

    private func lane(of channel: UInt16) -> Int? {
        self.lanes.firstIndex { $0.channel == channel }
    }

    /// A confirm means that the broker took charge of a message.
    ///
    /// It confirms unroutable messages too, after it has returned them.
    private mutating func confirm(_ lane: Int, _ tag: UInt64, multiple: Bool, isPositive: Bool) {
        var answered: [PublishRequest] = []
        var refused: [PublishingLane.Item] = []
        self.lanes[lane].window.confirm(tag, multiple: multiple) { pending in
            guard isPositive else {
                refused.append(pending.item)
                return
            }
            let result =
                pending.isReturned
                ? PublishResult.failed(BrokerError(.returned, "No queue takes the message.")) : .published
            if pending.item.request.finish(pending.item.index, result) { answered.append(pending.item.request) }
        }
        self.answered.append(contentsOf: answered)
        for item in refused { self.refused(item, on: lane) }
        guard isPositive, self.lanes[lane].noteAccepted(), let queue = self.lanes[lane].queue else { return }
        self.logger.notice("A queue accepts messages again", metadata: ["queue": "\(queue)"])
    }

    /// The broker has refused a message.
    private mutating func refused(_ item: PublishingLane.Item, on lane: Int) {
        let message = item.message
        // A hint may be lost, and is for a queue that ends with its process: no channel is changed for it.
        guard message.isPersistent else {
            self.finish(item, .notTaken())
            return
        }
        let queue = message.destination
        let isAgain = self.refusals.note(queue, channel: self.sharedChannels)
        self.refuse(item, by: queue)
        if self.lanes[lane].queue != nil {
            self.lanes[lane].condemn()
        } else if self.lane(for: message) != Self.shared {
            // It was sent before its queue got a lane of its own.
        } else if isAgain {
            self.isolate(
                queue,
                "A queue refuses messages on a fresh channel too: it is full (max-length), or most of its members are away"
            )
        } else if !self.lanes[lane].isCondemned {
            self.lanes[lane].condemn()
            self.logger.warning(
                "The broker refused a message; publishing continues on another channel",
                metadata: ["queue": "\(queue)"]
            )
        }
    }

    private mutating func returnedHeader(_ lane: Int, _ header: MessageHeader) {
        self.lanes[lane].returning = header.bodySize == 0 ? nil : (hasHeader: true, rest: header.bodySize)
        guard let number = header.correlationID.flatMap({ UInt64($0) }) else { return }
        self.lanes[lane].window.update(number) { $0.isReturned = true }
    }

    /// The broker closes a channel for a fault in one message without naming it: all in flight have failed.
    private mutating func channelClosed(
        _ channel: UInt16,
        _ connection: AMQPConnection,
        _ exception: ServerException
    ) throws(BrokerError) {
        guard let lane = self.lane(of: channel) else {
            // We have closed it too, and its answer to that follows.
            try connection.confirmChannelClosed(channel)
            return
        }
        guard self.outgoing?.lane != lane else {
            // In the middle of a message's frames a channel cannot be closed in order.
            throw BrokerError(.unreachable, "The broker closed the channel: \(exception.text).")
        }
        try connection.confirmChannelClosed(channel)
        self.numbers.free(channel)
        self.failWindow(lane, BrokerError(exception.channelFault, "The broker closed the channel: \(exception.text)."))
        try self.open(lane, connection)
    }

    private static let unexpected = BrokerError(.protocolFault, "The broker sent a body that belongs to nothing.")
}

// MARK: - Answering

extension PublishingWork {
    private mutating func finish(_ item: PublishingLane.Item, _ error: BrokerError) {
        if item.request.finish(item.index, .failed(error)) { self.answered.append(item.request) }
    }

    /// Answers for a message that its queue has refused, or would.
    private mutating func refuse(_ item: PublishingLane.Item, by queue: String) {
        MetricDescription.brokerRefused.counter([.queue: queue]).increment()
        let words = "The broker did not take the message for \(queue)."
        self.finish(item, BrokerError(.refused, words, retryAfter: self.refusals.retry(queue)))
    }

    private mutating func failWindow(_ lane: Int, _ error: BrokerError) {
        var failed: [PublishingLane.Item] = []
        self.lanes[lane].window.reset { failed.append($0.item) }
        for item in failed { self.finish(item, error) }
    }

    private mutating func failWaiting(_ error: BrokerError) {
        for lane in self.lanes.indices {
            while let item = self.lanes[lane].waiting.popFirst() { self.finish(item, error) }
        }
    }
}
