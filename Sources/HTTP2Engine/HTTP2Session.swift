import CNghttp2

/// The events of an ``HTTP2Session`` for its connection.
///
/// All calls come from within ``HTTP2Session/receive(_:)`` or
/// ``HTTP2Session/nextOutput()``; none may call those.
protocol HTTP2SessionDelegate: AnyObject {
    func received(header name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>, slot: Int, stream: Int32)
    func received(data: UnsafeBufferPointer<UInt8>, slot: Int, stream: Int32)
    /// A whole block of headers has come: those of an answer, informational ones before them, or trailers.
    func receivedHeaders(slot: Int, stream: Int32)
    func receivedEnd(slot: Int, stream: Int32)
    func receivedSettings(maximumStreams: Int)
    func receivedGoAway(code: UInt32, debugData: UnsafeBufferPointer<UInt8>)
    func receivedPingAnswer()
    func streamClosed(slot: Int, stream: Int32, code: UInt32)
    /// A request's headers could not leave; `isRefused` when streams may no longer be opened.
    func requestNotSent(stream: Int32, isRefused: Bool)
    /// Writes the next part of a request's body.
    func readBody(slot: Int, into buffer: UnsafeMutableBufferPointer<UInt8>) -> (count: Int, isEnd: Bool)
}

/// A fault of the HTTP/2 session, after which the connection is of no use.
struct HTTP2SessionFault: Error {
    let message: String

    init(code: Int) {
        self.message = unsafe String(cString: nghttp2_strerror(Int32(truncatingIfNeeded: code)))
    }
}

/// libnghttp2's client session: frames, HPACK, flow control.
///
/// Bytes in, bytes out; it does no I/O.
/// Streams are known to the connection by slot: the number is kept as the stream's user data, plus one.
@safe final class HTTP2Session {
    static let refusedStream = NGHTTP2_REFUSED_STREAM.rawValue
    static let cancel = NGHTTP2_CANCEL.rawValue

    private let raw: OpaquePointer
    private let box: DelegateBox
    /// The headers of a request; nghttp2 copies what it needs.
    private let entries = UnsafeMutablePointer<nghttp2_nv>.allocate(capacity: HTTP2HeaderBlock.maximumFields)

    /// The user data of the C callbacks; the connection owns its session, so it exists whenever one is called.
    private final class DelegateBox {
        unowned(unsafe) let delegate: any HTTP2SessionDelegate
        init(_ delegate: any HTTP2SessionDelegate) { unsafe self.delegate = delegate }
    }

    /// - Parameters:
    ///   - delegate: Must outlive the session.
    ///   - maximumHeaderBytes: The limit of header lists announced to the peer.
    /// - Throws: ``HTTP2SessionFault`` when memory is exhausted.
    init(delegate: any HTTP2SessionDelegate, maximumHeaderBytes: Int) throws(HTTP2SessionFault) {
        self.box = DelegateBox(delegate)
        var callbacks: OpaquePointer?
        guard unsafe nghttp2_session_callbacks_new(&callbacks) == 0, let callbacks = unsafe callbacks else {
            throw HTTP2SessionFault(code: Int(NGHTTP2_ERR_NOMEM.rawValue))
        }
        defer { unsafe nghttp2_session_callbacks_del(callbacks) }
        unsafe HTTP2Session.install(callbacks)
        var session: OpaquePointer?
        let user = unsafe Unmanaged.passUnretained(self.box).toOpaque()
        let code = unsafe nghttp2_session_client_new(&session, callbacks, user)
        guard code == 0, let session = unsafe session else { throw HTTP2SessionFault(code: Int(code)) }
        unsafe self.raw = session
        let settings = [
            nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue),
                value: UInt32(clamping: maximumHeaderBytes * 2)
            ),
        ]
        try self.check(
            unsafe nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count)
        )
        // Answers of a thousand streams share the connection's window.
        try self.check(
            unsafe nghttp2_session_set_local_window_size(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, 1 << 20)
        )
    }

    deinit {
        unsafe nghttp2_session_del(self.raw)
        unsafe self.entries.deallocate()
    }

    /// Processes bytes from the peer.
    func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2SessionFault) {
        let count = unsafe nghttp2_session_mem_recv(
            self.raw,
            bytes.bindMemory(to: UInt8.self).baseAddress,
            bytes.count
        )
        if count < 0 { throw HTTP2SessionFault(code: count) }
    }

    /// The next bytes to write, valid until the next call; nil when there are none.
    func nextOutput() throws(HTTP2SessionFault) -> UnsafeRawBufferPointer? {
        var start: UnsafePointer<UInt8>?
        let count = unsafe nghttp2_session_mem_send(self.raw, &start)
        if count < 0 { throw HTTP2SessionFault(code: count) }
        return count == 0 ? nil : unsafe UnsafeRawBufferPointer(start: start, count: count)
    }

    /// Whether the session has nothing more to read or write.
    var isOver: Bool {
        unsafe nghttp2_session_want_read(self.raw) == 0 && nghttp2_session_want_write(self.raw) == 0
    }

    /// Opens a stream; its frames come out of ``nextOutput()``.
    ///
    /// - Returns: The stream's id, or nil when no more can be opened on this connection.
    func submit(_ headers: HTTP2HeaderBlock, _ head: HTTP2RequestHead, hasBody: Bool, slot: Int) -> Int32? {
        let id = unsafe head.bytes.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return Int32(-1) }
            let start = unsafe UnsafeMutablePointer(mutating: base)
            let shared = unsafe headers.entries.count
            let count = shared + 1 + head.own.count
            guard count <= HTTP2HeaderBlock.maximumFields, let first = unsafe headers.entries.baseAddress else {
                return Int32(-1)
            }
            let pseudo = HTTP2HeaderBlock.pseudoCount
            unsafe self.entries.update(from: first, count: pseudo)
            // Paths hold device tokens and own headers change with each request: neither belongs into the table.
            unsafe self.entries[pseudo] = HTTP2Session.entry(":path", start, head.pathLength)
            unsafe (self.entries + pseudo + 1).update(from: first + pseudo, count: shared - pseudo)
            for (index, field) in head.own.enumerated() {
                let value = unsafe start + field.start
                unsafe self.entries[shared + 1 + index] =
                    HTTP2Session.entry(field.name, value, field.end - field.start)
            }
            let user = unsafe UnsafeMutableRawPointer(bitPattern: slot + 1)
            guard hasBody else {
                return unsafe nghttp2_submit_request(self.raw, nil, self.entries, count, nil, user)
            }
            var provider = unsafe nghttp2_data_provider(
                source: nghttp2_data_source(fd: Int32(slot)),
                read_callback: HTTP2Session.readBody
            )
            return unsafe nghttp2_submit_request(self.raw, nil, self.entries, count, &provider, user)
        }
        return id > 0 ? id : nil
    }

    private static func entry(_ name: StaticString, _ value: UnsafeMutablePointer<UInt8>, _ count: Int) -> nghttp2_nv {
        unsafe nghttp2_nv(
            name: UnsafeMutablePointer(mutating: name.utf8Start),
            value: value,
            namelen: name.utf8CodeUnitCount,
            valuelen: count,
            flags: UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue | NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue)
        )
    }

    /// Ends a stream before its time.
    func reset(_ stream: Int32) throws(HTTP2SessionFault) {
        try self.check(
            unsafe nghttp2_submit_rst_stream(self.raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, HTTP2Session.cancel)
        )
    }

    /// Asks the peer for a sign of life.
    func ping() throws(HTTP2SessionFault) {
        try self.check(unsafe nghttp2_submit_ping(self.raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil))
    }

    /// Queues GOAWAY, after which the session has ended.
    func terminate() throws(HTTP2SessionFault) {
        try self.check(unsafe nghttp2_session_terminate_session(self.raw, NGHTTP2_NO_ERROR.rawValue))
    }

    private func check(_ code: Int32) throws(HTTP2SessionFault) {
        if code != 0 { throw HTTP2SessionFault(code: Int(code)) }
    }

    // MARK: The C side

    private static func delegate(_ user: UnsafeMutableRawPointer?) -> (any HTTP2SessionDelegate)? {
        guard let user = unsafe user else { return nil }
        return unsafe Unmanaged<DelegateBox>.fromOpaque(user)._withUnsafeGuaranteedRef { unsafe $0.delegate }
    }

    private static func slot(_ session: OpaquePointer?, _ stream: Int32) -> Int? {
        let user = unsafe Int(bitPattern: nghttp2_session_get_stream_user_data(session, stream))
        return user == 0 ? nil : user - 1
    }

    private static let readBody: nghttp2_data_source_read_callback = { _, _, buffer, length, flags, source, user in
        guard let delegate = unsafe HTTP2Session.delegate(user), let source = unsafe source, let flags = unsafe flags
        else {
            return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
        }
        let part = unsafe delegate.readBody(
            slot: Int(source.pointee.fd),
            into: UnsafeMutableBufferPointer(start: buffer, count: length)
        )
        if part.isEnd { unsafe flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
        return part.count
    }

    private static func install(_ callbacks: OpaquePointer) {
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            session,
            frame,
            name,
            nameLength,
            value,
            valueLength,
            _,
            user in
            guard let frame = unsafe frame, let delegate = unsafe HTTP2Session.delegate(user) else { return 0 }
            let stream = unsafe frame.pointee.hd.stream_id
            guard let slot = unsafe HTTP2Session.slot(session, stream) else { return 0 }
            unsafe delegate.received(
                header: UnsafeBufferPointer(start: name, count: nameLength),
                value: UnsafeBufferPointer(start: value, count: valueLength),
                slot: slot,
                stream: stream
            )
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
            session,
            _,
            stream,
            data,
            length,
            user in
            guard let delegate = unsafe HTTP2Session.delegate(user),
                let slot = unsafe HTTP2Session.slot(session, stream)
            else { return 0 }
            unsafe delegate.received(data: UnsafeBufferPointer(start: data, count: length), slot: slot, stream: stream)
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { session, frame, user in
            if let frame = unsafe frame, let delegate = unsafe HTTP2Session.delegate(user) {
                unsafe HTTP2Session.received(frame, session, delegate)
            }
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { session, stream, code, user in
            guard let delegate = unsafe HTTP2Session.delegate(user),
                let slot = unsafe HTTP2Session.slot(session, stream)
            else { return 0 }
            delegate.streamClosed(slot: slot, stream: stream, code: code)
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks) { _, frame, code, user in
            guard let frame = unsafe frame, let delegate = unsafe HTTP2Session.delegate(user),
                unsafe UInt32(frame.pointee.hd.type) == NGHTTP2_HEADERS.rawValue
            else { return 0 }
            let isRefused = code == NGHTTP2_ERR_START_STREAM_NOT_ALLOWED.rawValue
            unsafe delegate.requestNotSent(stream: frame.pointee.hd.stream_id, isRefused: isRefused)
            return 0
        }
    }

    private static func received(
        _ frame: UnsafePointer<nghttp2_frame>,
        _ session: OpaquePointer?,
        _ delegate: any HTTP2SessionDelegate
    ) {
        let header = unsafe frame.pointee.hd
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
            guard let slot = unsafe HTTP2Session.slot(session, header.stream_id) else { return }
            if UInt32(header.type) == NGHTTP2_HEADERS.rawValue {
                delegate.receivedHeaders(slot: slot, stream: header.stream_id)
            }
            guard UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0 else { return }
            delegate.receivedEnd(slot: slot, stream: header.stream_id)
        case NGHTTP2_SETTINGS.rawValue:
            guard UInt32(header.flags) & NGHTTP2_FLAG_ACK.rawValue == 0 else { return }
            let limit = unsafe nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
            delegate.receivedSettings(maximumStreams: Int(limit))
        case NGHTTP2_GOAWAY.rawValue:
            let goAway = unsafe frame.pointee.goaway
            let debug = unsafe UnsafeBufferPointer(start: goAway.opaque_data, count: goAway.opaque_data_len)
            unsafe delegate.receivedGoAway(code: goAway.error_code, debugData: debug)
        case NGHTTP2_PING.rawValue:
            if UInt32(header.flags) & NGHTTP2_FLAG_ACK.rawValue != 0 { delegate.receivedPingAnswer() }
        default:
            break
        }
    }
}
