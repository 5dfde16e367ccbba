import Broker

/// How large frames may be, in octets.
enum FrameSize {
    /// The requested size: RabbitMQ's default.
    static let requested = 131_072
    /// AMQP's `frame-min-size`.
    static let smallest = 4096
    /// The largest frame accepted from the broker: a full frame, and the broker's additions to its headers.
    static let accepted = 2 * Self.requested

    /// The stack of a thread that decodes frames.
    ///
    /// The library decodes headers in one another by recursion without a limit: a level is five octets of a frame at least, and
    /// 96 of the stack as Debian builds it. A frame of nothing else needs 5 MiB; memory is used only as far as it is touched.
    static let stackForDecoding = 8 << 20

    /// The broker's limit is below the minimum of AMQP.
    static let tooSmall = BrokerError(
        .unreachable,
        "The broker's frame_max is too small for AMQP: raise its frame_max to \(Self.smallest) or more."
    )

    /// The frame size for sending on a connection.
    ///
    /// - Parameter limit: The size negotiated by library and broker; 0 = no limit.
    /// - Returns: The largest frame.
    /// - Throws: ``BrokerError`` with `unreachable` if the size is too small.
    static func negotiated(_ limit: Int32) throws(BrokerError) -> Int {
        guard limit != 0 else { return Self.requested }
        guard limit >= Self.smallest else { throw Self.tooSmall }
        return min(Int(limit), Self.requested)
    }
}
