import Broker
import CRabbitMQ

extension AMQPConnection {
    /// A message that is being sent: the frames of one channel must not be mixed with those of another message.
    struct Outgoing {
        let message: OutgoingMessage
        /// The number that the broker will confirm it with.
        let number: UInt64
        /// Octets of the body that were sent; nil before the method and header were.
        var sent: Int?
    }

    /// Sends as much of a message as the socket takes without waiting.
    ///
    /// - Parameters:
    ///   - outgoing: The message, and how far it came.
    ///   - channel: The channel to publish on.
    /// - Returns: Whether all of it was sent.
    /// - Throws: When the connection is lost.
    func send(_ outgoing: inout Outgoing, channel: UInt16) throws(BrokerError) -> Bool {
        let body = outgoing.message.body
        if outgoing.sent == nil {
            // The method, the header with at most a few texts, and small bodies are one step.
            let head = 256 + outgoing.message.octetsOfTexts
            guard self.hasCapacity(for: head + min(body.count, self.bodyFrameSize)) else { return false }
            try self.sendMethod(outgoing.message, channel: channel)
            try self.sendHeader(outgoing, channel: channel)
            outgoing.sent = 0
            if !body.isEmpty { outgoing.sent = try self.sendBody(body, from: 0, channel: channel) }
        }
        while let sent = outgoing.sent, sent < body.count {
            guard self.hasCapacity(for: min(body.count - sent, self.bodyFrameSize)) else { return false }
            outgoing.sent = try self.sendBody(body, from: sent, channel: channel)
        }
        return true
    }

    private func sendMethod(_ message: OutgoingMessage, channel: UInt16) throws(BrokerError) {
        self.texts.removeAll()
        let exchange = self.texts.append(message.exchange)
        let routingKey = self.texts.append(message.routingKey)
        let status = unsafe self.texts.withBytes { bytes in
            var publish = unsafe amqp_basic_publish_t()
            unsafe publish.exchange = bytes(exchange)
            unsafe publish.routing_key = bytes(routingKey)
            // Without it the broker confirms messages that reached no queue.
            unsafe publish.mandatory = message.isPersistent ? 1 : 0
            return unsafe amqp_send_method(self.state, channel, AMQP_BASIC_PUBLISH_METHOD, &publish)
        }
        try Self.check(status, "publishing")
    }

    private func sendHeader(_ outgoing: Outgoing, channel: UInt16) throws(BrokerError) {
        let message = outgoing.message
        self.texts.removeAll()
        let type = self.texts.append(message.properties.type)
        let messageID = self.texts.append(message.properties.messageID)
        let contentType = self.texts.append(message.properties.contentType)
        // The only identification of a returned message.
        let number = self.texts.append(String(outgoing.number))
        var headers: [(Range<Int>, Range<Int>)] = []
        for (name, value) in message.properties.headers {
            headers.append((self.texts.append(name), self.texts.append(value)))
        }
        let status = unsafe self.texts.withBytes { bytes in
            var properties = unsafe amqp_basic_properties_t()
            unsafe properties._flags =
                BasicProperty.type | BasicProperty.messageID | BasicProperty.contentType
                | BasicProperty.correlationID | BasicProperty.deliveryMode
            unsafe properties.type = bytes(type)
            unsafe properties.message_id = bytes(messageID)
            unsafe properties.content_type = bytes(contentType)
            unsafe properties.correlation_id = bytes(number)
            unsafe properties.delivery_mode = message.isPersistent ? 2 : 1
            var entries = unsafe headers.map { name, value in unsafe amqp_table_entry_t(bytes(name), bytes(value)) }
            return unsafe entries.withUnsafeMutableBufferPointer { entries in
                if !entries.isEmpty {
                    unsafe properties._flags |= BasicProperty.headers
                    unsafe properties.headers = amqp_table_t(
                        num_entries: Int32(entries.count),
                        entries: entries.baseAddress
                    )
                }
                return unsafe withUnsafeMutablePointer(to: &properties) { properties in
                    var frame = unsafe amqp_frame_t()
                    unsafe frame.frame_type = UInt8(AMQP_FRAME_HEADER)
                    unsafe frame.channel = channel
                    unsafe frame.payload.properties.class_id = UInt16(AMQP_BASIC_CLASS)
                    unsafe frame.payload.properties.body_size = UInt64(message.body.count)
                    unsafe frame.payload.properties.decoded = UnsafeMutableRawPointer(properties)
                    return unsafe amqp_send_frame(self.state, &frame)
                }
            }
        }
        try Self.check(status, "publishing")
    }

    /// Sends one body frame and returns how far the body is sent then.
    private func sendBody(_ body: [UInt8], from start: Int, channel: UInt16) throws(BrokerError) -> Int {
        let end = min(body.count, start + self.bodyFrameSize)
        let status = unsafe body.withUnsafeBytes { buffer in
            var frame = unsafe amqp_frame_t()
            unsafe frame.frame_type = UInt8(AMQP_FRAME_BODY)
            unsafe frame.channel = channel
            // The library only reads from it.
            let base = unsafe UnsafeMutableRawPointer(mutating: buffer.baseAddress)
            unsafe frame.payload.body_fragment = amqp_bytes_t(len: end - start, bytes: base.map { unsafe $0 + start })
            return unsafe amqp_send_frame(self.state, &frame)
        }
        try Self.check(status, "publishing")
        return end
    }

    /// Acknowledges deliveries; the caller has asked for room.
    func acknowledge(_ frame: AcknowledgementWindow.Frame, channel: UInt16) throws(BrokerError) {
        try Self.check(
            unsafe amqp_basic_ack(self.state, channel, frame.tag, frame.multiple ? 1 : 0),
            "acknowledging"
        )
    }

    /// Gives a delivery back to its queue.
    func requeue(_ tag: UInt64, channel: UInt16) throws(BrokerError) {
        try Self.check(unsafe amqp_basic_nack(self.state, channel, tag, 0, 1), "giving back")
    }

    /// Answers the broker's closing of a channel, which may then be opened again.
    func confirmChannelClosed(_ channel: UInt16) throws(BrokerError) {
        var close = amqp_channel_close_ok_t()
        try Self.check(
            unsafe amqp_send_method(self.state, channel, AMQP_CHANNEL_CLOSE_OK_METHOD, &close),
            "closing a channel"
        )
    }

    /// Answers the broker's closing of the connection.
    func confirmConnectionClosed() {
        var close = amqp_connection_close_ok_t()
        // The broker hangs up in any case.
        _ = unsafe amqp_send_method(self.state, 0, AMQP_CONNECTION_CLOSE_OK_METHOD, &close)
    }
}

extension OutgoingMessage {
    /// The octets of texts in the method and the header.
    fileprivate var octetsOfTexts: Int {
        var octets = self.exchange.utf8.count + self.routingKey.utf8.count
        octets += self.properties.type.utf8.count + self.properties.messageID.utf8.count
        octets += self.properties.contentType.utf8.count
        for (name, value) in self.properties.headers { octets += name.utf8.count + value.utf8.count + 6 }
        return octets
    }
}

extension amqp_table_entry_t {
    /// An entry with a text.
    init(_ key: amqp_bytes_t, _ text: amqp_bytes_t) {
        unsafe self.init()
        unsafe self.key = unsafe key
        unsafe self.value.kind = UInt8(AMQP_FIELD_KIND_UTF8.rawValue)
        unsafe self.value.value.bytes = unsafe text
    }
}
