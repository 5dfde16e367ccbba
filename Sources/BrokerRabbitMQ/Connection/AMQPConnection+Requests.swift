import Broker
import CRabbitMQ

extension AMQPConnection {
    func openChannel(_ channel: UInt16) throws(AMQPFailure) {
        unsafe amqp_channel_open(self.state, channel)
        try self.checkReply("opening a channel")
    }

    /// Closes a channel; its unacknowledged messages return to their queues.
    ///
    /// - Returns: Whether it is closed; else the broker has not answered in time, and does it later.
    func closeChannel(_ channel: UInt16) throws(BrokerError) -> Bool {
        let reply = unsafe amqp_channel_close(self.state, channel, AMQP_REPLY_SUCCESS)
        guard unsafe reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION else {
            unsafe amqp_maybe_release_buffers(self.state)
            return true
        }
        let status = unsafe reply.library_error
        guard status == AMQP_STATUS_TIMEOUT.rawValue else { throw Self.error(status, "closing a channel") }
        return false
    }

    /// Ends a channel without waiting: ``IncomingFrame/channelEnded(channel:)`` says when it is over.
    func endChannel(_ channel: UInt16) throws(BrokerError) {
        var close = unsafe amqp_channel_close_t()
        unsafe close.reply_code = UInt16(AMQP_REPLY_SUCCESS)
        try Self.check(
            unsafe amqp_send_method(self.state, channel, AMQP_CHANNEL_CLOSE_METHOD, &close),
            "closing a channel"
        )
    }

    func selectConfirms(_ channel: UInt16) throws(AMQPFailure) {
        unsafe amqp_confirm_select(self.state, channel)
        try self.checkReply("asking for confirms")
    }

    /// Subscribes without waiting, for a queue that has lost its majority answers late or never:
    /// ``IncomingFrame/subscribed(channel:)`` or ``IncomingFrame/channelClosed(channel:_:)`` follows.
    func subscribe(queue: String, prefetch: Int, channel: UInt16) throws(BrokerError) {
        // Quorum queues know no prefetch for a whole connection.
        var quality = amqp_basic_qos_t()
        quality.prefetch_count = UInt16(clamping: prefetch)
        try Self.check(
            unsafe amqp_send_method(self.state, channel, AMQP_BASIC_QOS_METHOD, &quality),
            "setting the prefetch"
        )
        var texts = FrameTexts()
        let (name, tag) = (texts.append(queue), texts.append(Self.consumerTag))
        let status = unsafe texts.withBytes { bytes in
            var consume = unsafe amqp_basic_consume_t()
            unsafe consume.queue = bytes(name)
            unsafe consume.consumer_tag = bytes(tag)
            return unsafe amqp_send_method(self.state, channel, AMQP_BASIC_CONSUME_METHOD, &consume)
        }
        try Self.check(status, "subscribing to \(queue)")
    }

    /// Ends the channel's consumer; frames that came before the broker's answer wait in the library.
    func cancelConsumer(_ channel: UInt16) throws(AMQPFailure) {
        var texts = FrameTexts()
        let tag = texts.append(Self.consumerTag)
        unsafe texts.withBytes { bytes in
            _ = unsafe amqp_basic_cancel(self.state, channel, bytes(tag))
        }
        try self.checkReply("ending a subscription")
    }

    func declareExchange(_ exchange: Topology.Exchange, channel: UInt16) throws(AMQPFailure) {
        var texts = FrameTexts()
        let (name, type) = (texts.append(exchange.name), texts.append("direct"))
        unsafe texts.withBytes { bytes in
            _ = unsafe amqp_exchange_declare(
                self.state,
                channel,
                bytes(name),
                bytes(type),
                0,
                1,
                0,
                0,
                amqp_table_t(num_entries: 0, entries: nil)
            )
        }
        try self.checkReply("declaring the exchange \(exchange.name)")
    }

    func declareQueue(_ queue: Topology.Queue, channel: UInt16) throws(AMQPFailure) {
        let arguments = QueueArguments(queue.kind)
        var texts = FrameTexts()
        let name = texts.append(queue.name)
        let pairs = arguments.texts.map { (texts.append($0), texts.append($1)) }
        let numbers = arguments.numbers.map { (texts.append($0), $1) }
        let isExclusive = queue.kind == .exclusive
        unsafe texts.withBytes { bytes in
            var entries = unsafe pairs.map { unsafe amqp_table_entry_t(bytes($0), bytes($1)) }
            for (key, number) in numbers {
                var entry = unsafe amqp_table_entry_t()
                unsafe entry.key = bytes(key)
                unsafe entry.value.kind = UInt8(AMQP_FIELD_KIND_I64.rawValue)
                unsafe entry.value.value.i64 = Int64(number)
                unsafe entries.append(entry)
            }
            unsafe entries.withUnsafeMutableBufferPointer { entries in
                let table = unsafe amqp_table_t(num_entries: Int32(entries.count), entries: entries.baseAddress)
                _ = unsafe amqp_queue_declare(
                    self.state,
                    channel,
                    bytes(name),
                    0,
                    isExclusive ? 0 : 1,
                    isExclusive ? 1 : 0,
                    isExclusive ? 1 : 0,
                    table
                )
            }
        }
        try self.checkReply("declaring the queue \(queue.name)")
    }

    /// Asks for a queue without making it.
    func depth(of queue: String, channel: UInt16) throws(AMQPFailure) -> QueueDepth {
        var texts = FrameTexts()
        let name = texts.append(queue)
        let depth: QueueDepth? = unsafe texts.withBytes { bytes in
            let none = unsafe amqp_table_t(num_entries: 0, entries: nil)
            let answer = unsafe amqp_queue_declare(self.state, channel, bytes(name), 1, 0, 0, 0, none)
            guard let answer = unsafe answer else { return nil }
            return unsafe QueueDepth(
                ready: Int(answer.pointee.message_count),
                consumers: Int(answer.pointee.consumer_count)
            )
        }
        try self.checkReply("asking for the queue \(queue)")
        return depth ?? QueueDepth(ready: 0, consumers: 0)
    }

    func bind(_ queue: Topology.Queue, to exchange: String, channel: UInt16) throws(AMQPFailure) {
        var texts = FrameTexts()
        let (name, source, key) = (texts.append(queue.name), texts.append(exchange), texts.append(queue.key))
        unsafe texts.withBytes { bytes in
            let none = unsafe amqp_table_t(num_entries: 0, entries: nil)
            _ = unsafe amqp_queue_bind(self.state, channel, bytes(name), bytes(source), bytes(key), none)
        }
        try self.checkReply("binding the queue \(queue.name)")
    }

    /// One consumer a channel, so that the tag needs to name nothing.
    private static let consumerTag = "pushline"
}

/// The arguments of a queue's declaration; an existing queue must have exactly these.
struct QueueArguments: Equatable {
    var texts: [String: String] = [:]
    var numbers: [String: Int] = [:]

    init(_ kind: Topology.Queue.Kind) {
        switch kind {
        case .quorum(let deadLetterQueue, let deliveryLimit):
            self.texts["x-queue-type"] = "quorum"
            if let deadLetterQueue {
                // At-least-once needs all four: with another overflow the broker falls back to at-most-once, silently.
                self.texts["x-dead-letter-exchange"] = ""
                self.texts["x-dead-letter-routing-key"] = deadLetterQueue
                self.texts["x-dead-letter-strategy"] = "at-least-once"
                self.texts["x-overflow"] = "reject-publish"
            }
            if let deliveryLimit { self.numbers["x-delivery-limit"] = deliveryLimit }
        case .exclusive:
            // Hints: in a queue without a reader the oldest are dropped.
            self.numbers["x-max-length"] = 10_000
        }
    }
}
