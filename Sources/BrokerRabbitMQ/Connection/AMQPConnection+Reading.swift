import Broker
import CRabbitMQ

extension AMQPConnection {
    /// Copies the relevant parts of a frame.
    func read(_ frame: amqp_frame_t) -> IncomingFrame {
        let channel = unsafe frame.channel
        switch unsafe Int32(frame.frame_type) {
        case AMQP_FRAME_METHOD:
            return unsafe self.read(frame.payload.method, channel: channel)
        case AMQP_FRAME_HEADER:
            let size = unsafe frame.payload.properties.body_size
            guard let decoded = unsafe frame.payload.properties.decoded else {
                return .header(channel: channel, MessageHeader(bodySize: size))
            }
            let properties = unsafe decoded.assumingMemoryBound(to: amqp_basic_properties_t.self)
            return .header(channel: channel, unsafe MessageHeader(properties, bodySize: size))
        case AMQP_FRAME_BODY:
            let fragment = unsafe frame.payload.body_fragment
            let buffer = unsafe UnsafeRawBufferPointer(start: fragment.bytes, count: fragment.len)
            return .body(channel: channel, unsafe [UInt8](buffer))
        default:
            return .other
        }
    }

    private func read(_ method: amqp_method_t, channel: UInt16) -> IncomingFrame {
        // These two have no content, and may have no memory.
        if unsafe method.id == AMQP_CONNECTION_UNBLOCKED_METHOD { return .unblocked }
        if unsafe method.id == AMQP_CHANNEL_CLOSE_OK_METHOD { return .channelEnded(channel: channel) }
        guard let decoded = unsafe method.decoded else { return .other }
        switch unsafe method.id {
        case AMQP_BASIC_DELIVER_METHOD:
            let deliver = unsafe decoded.load(as: amqp_basic_deliver_t.self)
            return .delivery(
                channel: channel,
                tag: unsafe deliver.delivery_tag,
                isRedelivered: unsafe deliver.redelivered != 0
            )
        case AMQP_BASIC_ACK_METHOD:
            let ack = unsafe decoded.load(as: amqp_basic_ack_t.self)
            return .confirm(channel: channel, tag: ack.delivery_tag, multiple: ack.multiple != 0, isPositive: true)
        case AMQP_BASIC_NACK_METHOD:
            let nack = unsafe decoded.load(as: amqp_basic_nack_t.self)
            return .confirm(channel: channel, tag: nack.delivery_tag, multiple: nack.multiple != 0, isPositive: false)
        case AMQP_BASIC_RETURN_METHOD:
            return .returned(channel: channel)
        case AMQP_BASIC_CANCEL_METHOD:
            return .consumerCancelled(channel: channel)
        case AMQP_BASIC_CONSUME_OK_METHOD:
            return .subscribed(channel: channel)
        case AMQP_CHANNEL_CLOSE_METHOD:
            let close = unsafe decoded.load(as: amqp_channel_close_t.self)
            let text = unsafe String(amqpBytes: close.reply_text)
            return .channelClosed(channel: channel, ServerException(code: unsafe close.reply_code, text: text))
        case AMQP_CONNECTION_CLOSE_METHOD:
            let close = unsafe decoded.load(as: amqp_connection_close_t.self)
            let text = unsafe String(amqpBytes: close.reply_text)
            return .connectionClosed(ServerException(code: unsafe close.reply_code, text: text))
        case AMQP_CONNECTION_BLOCKED_METHOD:
            let blocked = unsafe decoded.load(as: amqp_connection_blocked_t.self)
            return .blocked(unsafe String(amqpBytes: blocked.reason))
        default:
            return .other
        }
    }
}

extension AMQPFailure {
    /// Reads the broker's exception from the answer to a request.
    init(_ reply: amqp_rpc_reply_t, _ what: String) {
        guard let decoded = unsafe reply.reply.decoded else {
            self = .connection(AMQPConnection.error(AMQP_STATUS_BAD_AMQP_DATA.rawValue, what))
            return
        }
        if unsafe reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD {
            let close = unsafe decoded.load(as: amqp_channel_close_t.self)
            let text = unsafe String(amqpBytes: close.reply_text)
            self = .channel(ServerException(code: unsafe close.reply_code, text: text))
        } else {
            let close = unsafe decoded.load(as: amqp_connection_close_t.self)
            let text = unsafe String(amqpBytes: close.reply_text)
            let exception = ServerException(code: unsafe close.reply_code, text: text)
            let words = "The broker closed the connection while \(what): \(text)."
            self = .connection(BrokerError(exception.connectionFault, words))
        }
    }
}
