import Broker
import CRabbitMQ

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

extension AMQPConnection {
    /// Connects the socket, with TLS where the address says so, and returns its descriptor.
    static func open(
        _ state: amqp_connection_state_t,
        _ configuration: RabbitMQConfiguration,
        _ address: RabbitMQConfiguration.Address
    ) throws(BrokerError) -> Int32 {
        let socket =
            if address.isTLS {
                unsafe try self.makeTLSSocket(state, configuration.tls)
            } else {
                unsafe amqp_tcp_socket_new(state)
            }
        guard let socket = unsafe socket else {
            throw BrokerError(.unreachable, "There is no memory for a socket.")
        }
        var timeout = timeval(configuration.connectTimeout)
        unsafe amqp_set_handshake_timeout(state, &timeout)
        let status = unsafe amqp_socket_open_noblock(socket, address.host, Int32(address.port), &timeout)
        // Of several nodes it may be one whose certificate is another's.
        try Self.check(status, "connecting to \(address)")
        return unsafe amqp_socket_get_sockfd(socket)
    }

    /// The system's authorities on Debian: 0.11 has no call for OpenSSL's default.
    private static let systemAuthorities = "/etc/ssl/certs/ca-certificates.crt"

    private static func makeTLSSocket(
        _ state: amqp_connection_state_t,
        _ tls: RabbitMQConfiguration.TLS
    ) throws(BrokerError) -> OpaquePointer? {
        guard let socket = unsafe amqp_ssl_socket_new(state) else { return nil }
        unsafe amqp_ssl_socket_set_verify_peer(socket, 1)
        unsafe amqp_ssl_socket_set_verify_hostname(socket, tls.verifiesHostname ? 1 : 0)
        // 0.11 would go down to TLS 1.0.
        let status = unsafe amqp_ssl_socket_set_ssl_versions(socket, AMQP_TLSv1_2, AMQP_TLSvLATEST)
        try self.check(status, "choosing TLS 1.2")
        let authorities = tls.authorityFile ?? Self.systemAuthorities
        guard unsafe amqp_ssl_socket_set_cacert(socket, authorities) == AMQP_STATUS_OK.rawValue else {
            throw BrokerError(.untrusted, "The broker's authorities cannot be read from \(authorities).")
        }
        if let certificate = tls.certificateFile, let key = tls.keyFile {
            guard unsafe amqp_ssl_socket_set_key(socket, certificate, key) == AMQP_STATUS_OK.rawValue else {
                throw BrokerError(.untrusted, "The client certificate cannot be read from \(certificate) and \(key).")
            }
        }
        return unsafe socket
    }

    /// Sets the socket's options, and returns the size of its send buffer.
    static func tune(_ descriptor: Int32, _ configuration: RabbitMQConfiguration) -> Int {
        func set(_ level: Int32, _ option: Int32, _ number: Int) {
            var value = Int32(clamping: number)
            _ = unsafe setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        set(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        set(SOL_SOCKET, SO_KEEPALIVE, 1)
        // A fixed size, so that "writable" means a known room; the kernel lowers what it does not allow.
        set(SOL_SOCKET, SO_SNDBUF, configuration.sendBuffer)
        #if canImport(Glibc)
        // A vanished peer also ends data waiting in the send buffer.
        set(Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, Int(configuration.heartbeat.milliseconds) * 2)
        #endif
        var size: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard unsafe getsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, &length) == 0 else { return 0 }
        return Int(size)
    }

    static func logIn(
        _ state: amqp_connection_state_t,
        _ configuration: RabbitMQConfiguration,
        _ address: RabbitMQConfiguration.Address,
        role: String
    ) throws(BrokerError) {
        let name = "\(configuration.connectionName) \(role)"
        let heartbeat = Int32(clamping: max(1, configuration.heartbeat.components.seconds))
        let reply = unsafe Self.withClientProperties(name: name) { properties in
            unsafe pushline_amqp_login(
                state,
                address.virtualHost,
                Int32(FrameSize.requested),
                heartbeat,
                properties,
                address.username,
                address.password
            )
        }
        switch unsafe reply.reply_type {
        case AMQP_RESPONSE_NORMAL:
            unsafe amqp_maybe_release_buffers(state)
        case AMQP_RESPONSE_SERVER_EXCEPTION:
            switch unsafe AMQPFailure(reply, "logging in") {
            case .connection(let error): throw error
            case .timeout(let error): throw error
            case .channel(let exception): throw BrokerError(.unreachable, exception.text)
            }
        default:
            // The library answers no less than AMQP asks for, and a broker that proposed less then hangs up without a word.
            guard unsafe amqp_get_frame_max(state) != FrameSize.smallest else { throw FrameSize.tooSmall }
            let status = unsafe reply.library_error
            throw Self.error(status, "logging in")
        }
    }

    /// Makes the library accept frames larger than negotiated, a limit that binds only publishers: the broker does not
    /// split a message's headers, and extends them at a redelivery or when it dead-letters.
    static func acceptLargerFrames(_ state: amqp_connection_state_t) throws(BrokerError) {
        let (channels, heartbeat) = unsafe (amqp_get_channel_max(state), amqp_get_heartbeat(state))
        let status = unsafe amqp_tune_connection(state, channels, Int32(FrameSize.accepted), heartbeat)
        try Self.check(status, "setting the size of frames")
    }

    /// The connection's name, and the extensions that we understand.
    private static func withClientProperties(
        name: String,
        _ body: (UnsafePointer<amqp_table_t>) -> amqp_rpc_reply_t
    ) -> amqp_rpc_reply_t {
        // The library gives `consumer_cancel_notify` by itself; a repeat does no harm.
        let capabilities = ["connection.blocked", "consumer_cancel_notify", "basic.nack", "publisher_confirms"]
        var texts = FrameTexts()
        let keys = capabilities.map { texts.append($0) }
        let (nameKey, nameValue) = (texts.append("connection_name"), texts.append(name))
        let capabilitiesKey = texts.append("capabilities")
        return unsafe texts.withBytes { bytes in
            var flags = unsafe keys.map { key in
                var entry = unsafe amqp_table_entry_t()
                unsafe entry.key = bytes(key)
                unsafe entry.value.kind = UInt8(AMQP_FIELD_KIND_BOOLEAN.rawValue)
                unsafe entry.value.value.boolean = 1
                return unsafe entry
            }
            return unsafe flags.withUnsafeMutableBufferPointer { flags in
                var entries = unsafe [amqp_table_entry_t(), amqp_table_entry_t()]
                unsafe entries[0].key = bytes(nameKey)
                unsafe entries[0].value.kind = UInt8(AMQP_FIELD_KIND_UTF8.rawValue)
                unsafe entries[0].value.value.bytes = bytes(nameValue)
                unsafe entries[1].key = bytes(capabilitiesKey)
                unsafe entries[1].value.kind = UInt8(AMQP_FIELD_KIND_TABLE.rawValue)
                unsafe entries[1].value.value.table = amqp_table_t(
                    num_entries: Int32(flags.count),
                    entries: flags.baseAddress
                )
                return unsafe entries.withUnsafeMutableBufferPointer { entries in
                    var table = unsafe amqp_table_t(num_entries: 2, entries: entries.baseAddress)
                    return unsafe body(&table)
                }
            }
        }
    }
}
