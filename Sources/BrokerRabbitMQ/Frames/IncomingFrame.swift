import Broker

/// A frame from the broker, independent of the C library's memory.
enum IncomingFrame {
    case delivery(channel: UInt16, tag: UInt64, isRedelivered: Bool)
    case confirm(channel: UInt16, tag: UInt64, multiple: Bool, isPositive: Bool)
    case returned(channel: UInt16)
    case header(channel: UInt16, MessageHeader)
    case body(channel: UInt16, [UInt8])
    /// The broker has accepted a consumer.
    case subscribed(channel: UInt16)
    /// The broker ended a consumer: its queue is gone.
    case consumerCancelled(channel: UInt16)
    case channelClosed(channel: UInt16, ServerException)
    /// The broker's answer to our closing of a channel: nothing more comes on it.
    case channelEnded(channel: UInt16)
    case connectionClosed(ServerException)
    case blocked(String)
    case unblocked
    /// Nothing that concerns us.
    case other
}

/// Why the broker closed a channel or a connection.
struct ServerException {
    var code: UInt16
    var text: String

    static let accessRefused: UInt16 = 403
    static let notFound: UInt16 = 404
    static let resourceLocked: UInt16 = 405
    static let preconditionFailed: UInt16 = 406
    static let notAllowed: UInt16 = 530

    /// The kind of a fault that ended a channel.
    var channelFault: BrokerError.Code {
        switch self.code {
        case Self.accessRefused: .notPermitted
        case Self.notFound: .notFound
        case Self.resourceLocked: .refused
        case Self.preconditionFailed: .mismatch
        default: .protocolFault
        }
    }

    /// The kind of a fault that ended a connection.
    ///
    /// RabbitMQ has one code for a virtual host that is not there, one that the user may
    /// not enter, and one that is down or has enough connections: its words tell them apart.
    var connectionFault: BrokerError.Code {
        switch self.code {
        case Self.accessRefused: .loginRefused
        case Self.notAllowed where self.text.hasSuffix(" not found"): .noVirtualHost
        case Self.notAllowed where self.text.contains(" refused for user '") && !self.text.hasSuffix(" is reached"):
            .notPermitted
        case Self.notAllowed: .protocolFault
        default: .unreachable
        }
    }
}
