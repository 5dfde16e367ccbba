import Broker

/// How large frames may be, in octets.
enum FrameSize {
    /// What we ask for: RabbitMQ's own limit, unless it is configured otherwise.
    static let requested = 131_072
    /// The least that every peer must take.
    static let smallest = 4096
    /// The largest that is taken from the broker: a full frame, and what it adds to its headers.
    static let accepted = 2 * Self.requested

    /// The stack of a thread that decodes frames.
    ///
    /// The library decodes headers in one another by recursion without a limit: a level is five octets of a frame at least, and
    /// 96 of the stack as Debian builds it. A frame of nothing else needs 5 MiB; memory is used only as far as it is touched.
    static let stackForDecoding = 8 << 20

    /// The broker would take less than AMQP asks of every peer.
    static let tooSmall = BrokerError(
        .unreachable,
        "The broker hangs up over the size of frames: raise its frame_max to \(Self.smallest) or more."
    )

    /// What may be sent on a connection.
    ///
    /// - Parameter limit: What library and broker have agreed on; 0 = no limit.
    /// - Returns: The largest frame.
    /// - Throws: ``BrokerError`` with `unreachable` where nothing of use fits.
    static func negotiated(_ limit: Int32) throws(BrokerError) -> Int {
        guard limit != 0 else { return Self.requested }
        guard limit >= Self.smallest else { throw Self.tooSmall }
        return min(Int(limit), Self.requested)
    }
}
