import Broker
import DequeModule

/// Publishes with confirms: many callers' messages through one channel, and a window of them under way.
struct PublishingWork: ConnectionWork {
    /// A request of which messages are still to be sent.
    private struct Waiting {
        let request: PublishRequest
        var next = 0
    }

    /// A message under way.
    private struct Pending {
        let request: PublishRequest
        let index: Int
        var isReturned = false
    }

    private static let channel: UInt16 = 1

    private let mailbox: PublisherMailbox
    private let windowSize: Int
    private var waiting = Deque<Waiting>()
    private var window = ConfirmWindow<Pending>()
    private var outgoing: AMQPConnection.Outgoing?
    /// Octets of a returned message that are still to come, and whether its header did.
    private var returning: (hasHeader: Bool, rest: UInt64)?
    private var answered: [PublishRequest] = []

    init(_ mailbox: PublisherMailbox, windowSize: Int) {
        self.mailbox = mailbox
        self.windowSize = windowSize
    }

    mutating func begin(_ connection: AMQPConnection) throws(BrokerError) {
        do {
            try connection.openChannel(Self.channel)
            try connection.selectConfirms(Self.channel)
        } catch {
            switch error {
            case .connection(let error): throw error
            case .channel(let exception): throw BrokerError(.unreachable, exception.text)
            }
        }
    }

    mutating func turn(_ connection: AMQPConnection) throws(BrokerError) -> TurnOutcome {
        for request in self.mailbox.takeIncoming() { self.waiting.append(Waiting(request: request)) }
        // Before anything is sent: it also renews the receive deadline of the heartbeats.
        let isMoreToRead = try self.readFrames(connection)
        let waitsForSocket = try self.sendMessages(connection)
        self.mailbox.forget(self.answered)
        self.answered.removeAll(keepingCapacity: true)
        return TurnOutcome(isUnfinished: isMoreToRead, waitsForSocket: waitsForSocket)
    }

    mutating func lost(_ error: BrokerError, isAttemptFollowing: Bool) {
        self.outgoing = nil
        self.returning = nil
        self.failWindow(error)
        self.mailbox.forget(self.answered)
        self.answered.removeAll()
        if !isAttemptFollowing {
            self.waiting.removeAll()
            self.mailbox.endAll(error)
        }
    }

    mutating func callWithoutConnection() {
        // Requests made while an attempt is due wait for its result.
    }

    mutating func end() {
        self.waiting.removeAll()
        self.mailbox.endAll(.closed)
    }

    // MARK: - Sending

    /// Sends as many messages as the window and the socket allow.
    ///
    /// - Returns: Whether the socket was the limit.
    private mutating func sendMessages(_ connection: AMQPConnection) throws(BrokerError) -> Bool {
        guard self.outgoing != nil || !self.waiting.isEmpty else { return false }
        if case .blocked(let reason) = self.mailbox.link.state {
            // A message that is half sent waits: its frames cannot be taken back.
            self.failWaiting(.blocked(reason))
            guard self.outgoing != nil else { return false }
        }
        connection.setCorked(true)
        defer { connection.setCorked(false) }
        while let message = self.nextOutgoing() {
            self.outgoing = message
            guard var outgoing = self.outgoing else { break }
            let isSent = try connection.send(&outgoing, channel: Self.channel)
            self.outgoing = isSent ? nil : outgoing
            if !isSent { return true }
        }
        return false
    }

    /// The message that is half sent, or the next one if the window has a place for it.
    private mutating func nextOutgoing() -> AMQPConnection.Outgoing? {
        if let outgoing { return outgoing }
        guard self.window.count < self.windowSize else { return nil }
        while var first = self.waiting.popFirst() {
            guard !first.request.isAnswered else { continue }
            let index = first.next
            first.next += 1
            if first.next < first.request.messages.count { self.waiting.prepend(first) }
            let number = self.window.nextNumber
            self.window.append(Pending(request: first.request, index: index))
            return AMQPConnection.Outgoing(message: first.request.messages[index], number: number)
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
        case .confirm(let tag, let multiple, let isPositive):
            self.confirm(tag, multiple: multiple, isPositive: isPositive)
        case .returned:
            self.returning = (hasHeader: false, rest: 0)
        case .header(_, let header):
            self.returnedHeader(header)
        case .body(_, let octets):
            guard let returning else { throw Self.unexpected }
            let rest = returning.rest - min(returning.rest, UInt64(octets.count))
            self.returning = rest == 0 ? nil : (hasHeader: true, rest: rest)
        case .channelClosed(_, let exception):
            try self.reopen(connection, exception)
        case .connectionClosed(let exception):
            connection.confirmConnectionClosed()
            throw BrokerError(.unreachable, "The broker closed the connection: \(exception.text).")
        case .blocked(let reason):
            self.mailbox.link.set(.blocked(reason))
        case .unblocked:
            self.mailbox.link.set(.connected)
        case .delivery, .consumerCancelled, .other:
            break
        }
    }

    /// A confirm means that the broker took charge of a message.
    ///
    /// It confirms unroutable messages too, after it has returned them.
    private mutating func confirm(_ tag: UInt64, multiple: Bool, isPositive: Bool) {
        var answered: [PublishRequest] = []
        self.window.confirm(tag, multiple: multiple) { pending in
            let result: PublishResult
            if !isPositive {
                result = .failed(BrokerError(.refused, "The broker did not take the message."))
            } else if pending.isReturned {
                result = .failed(BrokerError(.returned, "No queue takes the message."))
            } else {
                result = .published
            }
            if pending.request.finish(pending.index, result) { answered.append(pending.request) }
        }
        self.answered.append(contentsOf: answered)
    }

    private mutating func returnedHeader(_ header: MessageHeader) {
        self.returning = header.bodySize == 0 ? nil : (hasHeader: true, rest: header.bodySize)
        guard let number = header.correlationID.flatMap({ UInt64($0) }) else { return }
        self.window.update(number) { $0.isReturned = true }
    }

    /// The broker closes a channel for a fault in one message without naming it: all in flight have failed.
    private mutating func reopen(_ connection: AMQPConnection, _ exception: ServerException) throws(BrokerError) {
        guard self.outgoing == nil else {
            // In the middle of a message's frames a channel cannot be closed in order.
            throw BrokerError(.unreachable, "The broker closed the channel: \(exception.text).")
        }
        try connection.confirmChannelClosed(Self.channel)
        self.returning = nil
        self.failWindow(BrokerError(.protocolFault, "The broker closed the channel: \(exception.text)."))
        try self.begin(connection)
    }

    private mutating func failWindow(_ error: BrokerError) {
        var answered: [PublishRequest] = []
        self.window.reset { pending in
            if pending.request.finish(pending.index, .failed(error)) { answered.append(pending.request) }
        }
        self.answered.append(contentsOf: answered)
    }

    private mutating func failWaiting(_ error: BrokerError) {
        while let first = self.waiting.popFirst() {
            for index in first.next..<first.request.messages.count {
                if first.request.finish(index, .failed(error)) { self.answered.append(first.request) }
            }
        }
    }

    private static let unexpected = BrokerError(.protocolFault, "The broker sent a body that belongs to nothing.")
}
