import Broker
import CRabbitMQ

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// One connection of librabbitmq.
///
/// It belongs to one thread: the library's connections and channels are not shared between threads. Frames are sent one
/// by one and only when the socket's buffer has room, because in 0.11 a blocked send waits without a limit: for the
/// socket, or (`amqp_try_recv`) for any frame of the broker.
@safe
final class AMQPConnection {
    let state: amqp_connection_state_t
    let descriptor: Int32
    /// The largest payload of a body frame that both the broker and a writable socket accept.
    let bodyFrameSize: Int
    /// Octets that may be sent until the socket is asked again whether it has room.
    var sendBudget = 0
    /// Octets that a socket found writable takes for certain.
    let sendAllowance: Int
    /// Holds the texts of a frame while it is sent.
    var texts = FrameTexts()
    private var framesSinceRelease = 0

    /// Connects and logs in, each within the configured time to connect.
    ///
    /// - Parameters:
    ///   - configuration: Certificates and limits.
    ///   - address: Where, and as whom.
    ///   - role: The connection's role, shown in the broker's lists.
    /// - Throws: ``BrokerError`` that says why there is no connection.
    init(
        _ configuration: RabbitMQConfiguration,
        at address: RabbitMQConfiguration.Address,
        role: String
    ) throws(BrokerError) {
        guard let state = unsafe amqp_new_connection() else {
            throw BrokerError(.unreachable, "There is no memory for a connection.")
        }
        do {
            // Nothing of `self` is set before all has gone well, or else `deinit` would destroy the connection too.
            let descriptor = unsafe try Self.open(state, configuration, address)
            let buffer = Self.tune(descriptor, configuration)
            // A socket is writable while a third of its buffer is free; each small packet costs more room than its octets.
            let allowance = max(FrameSize.smallest, buffer / 8)
            unsafe try Self.logIn(state, configuration, address, role: role)
            let frameSize = unsafe try FrameSize.negotiated(amqp_get_frame_max(state))
            unsafe try Self.acceptLargerFrames(state)
            var timeout = timeval(configuration.requestTimeout)
            unsafe amqp_set_rpc_timeout(state, &timeout)
            self.descriptor = descriptor
            self.sendAllowance = allowance
            self.bodyFrameSize = min(frameSize, allowance) - 8
            unsafe self.state = unsafe state
        } catch {
            unsafe amqp_destroy_connection(state)
            throw error
        }
    }

    deinit {
        // Only the socket is closed: `close()` ends the connection in order, which may take a while.
        unsafe amqp_destroy_connection(self.state)
    }

    /// The highest number of a channel, as negotiated; 0 = no limit.
    var mostChannels: Int32 { unsafe amqp_get_channel_max(self.state) }

    /// Closes the connection in order, ignoring the broker's answer.
    func close() {
        unsafe amqp_connection_close(self.state, AMQP_REPLY_SUCCESS)
    }

    // MARK: - Receiving

    /// The next frame that is here already, or nil.
    ///
    /// Calling it also sends and checks heartbeats, which the library does nowhere else.
    func nextFrame() throws(BrokerError) -> IncomingFrame? {
        var frame = unsafe amqp_frame_t()
        var immediately = timeval()
        let status = unsafe amqp_simple_wait_frame_noblock(self.state, &frame, &immediately)
        if status == AMQP_STATUS_TIMEOUT.rawValue {
            unsafe amqp_maybe_release_buffers(self.state)
            return nil
        }
        try Self.check(status, "receiving")
        let result = unsafe self.read(frame)
        self.framesSinceRelease += 1
        if self.framesSinceRelease >= 64 {
            // Nothing of the library's memory was kept.
            self.framesSinceRelease = 0
            unsafe amqp_maybe_release_buffers(self.state)
        }
        return result
    }

    /// Whether frames wait that the library read while it waited for something else.
    var hasQueuedFrames: Bool { unsafe amqp_frames_enqueued(self.state) != 0 }

    // MARK: - Requests

    /// Checks the answer to the last request.
    ///
    /// - Throws: A fault that ends the channel: ``AMQPFailure``.
    func checkReply(_ what: String) throws(AMQPFailure) {
        let reply = unsafe amqp_get_rpc_reply(self.state)
        switch unsafe reply.reply_type {
        case AMQP_RESPONSE_NORMAL:
            unsafe amqp_maybe_release_buffers(self.state)
        case AMQP_RESPONSE_SERVER_EXCEPTION:
            throw unsafe AMQPFailure(reply, what)
        default:
            let status = unsafe reply.library_error
            let error = Self.error(status, what)
            throw status == AMQP_STATUS_TIMEOUT.rawValue ? .timeout(error) : .connection(error)
        }
    }

    /// Whether the socket's send buffer accepts another frame of this size without waiting.
    func hasCapacity(for octets: Int) -> Bool {
        // Beside its octets a packet costs the kernel's own bookkeeping.
        let cost = octets + 256
        if self.sendBudget < cost {
            var descriptor = pollfd(fd: self.descriptor, events: Int16(POLLOUT), revents: 0)
            guard unsafe poll(&descriptor, 1, 0) == 1, descriptor.revents & Int16(POLLOUT) != 0 else {
                // Reading from a broken socket reports its error.
                return false
            }
            self.sendBudget = max(self.sendAllowance, cost)
        }
        self.sendBudget -= cost
        return true
    }

    /// Holds small packets back until the next call with false, so that many frames make one packet.
    func setCorked(_ isCorked: Bool) {
        #if canImport(Glibc)
        var value: Int32 = isCorked ? 1 : 0
        _ = unsafe setsockopt(
            self.descriptor,
            Int32(IPPROTO_TCP),
            TCP_CORK,
            &value,
            socklen_t(MemoryLayout<Int32>.size)
        )
        #endif
    }

    static func check(_ status: Int32, _ what: String) throws(BrokerError) {
        guard status == AMQP_STATUS_OK.rawValue else { throw Self.error(status, what) }
    }

    static func error(_ status: Int32, _ what: String) -> BrokerError {
        let text = unsafe String(cString: amqp_error_string2(status))
        let code = Self.faultsOfTLS.contains(status) ? BrokerError.Code.untrusted : .unreachable
        return BrokerError(code, "The connection to the broker failed while \(what): \(text).")
    }

    private static let faultsOfTLS = [
        AMQP_STATUS_SSL_HOSTNAME_VERIFY_FAILED, AMQP_STATUS_SSL_PEER_VERIFY_FAILED, AMQP_STATUS_SSL_CONNECTION_FAILED,
    ].map(\.rawValue)
}

/// Why a request of ours failed, and how much with it.
enum AMQPFailure: Error {
    /// The broker closed the channel.
    case channel(ServerException)
    /// No answer in time. It may come still, so that the channel is of no use any more; the connection's others are.
    case timeout(BrokerError)
    case connection(BrokerError)
}

extension timeval {
    init(_ duration: Duration) {
        let milliseconds = max(1, duration.milliseconds)
        self.init(tv_sec: Int(milliseconds / 1000), tv_usec: __suseconds_t((milliseconds % 1000) * 1000))
    }
}
