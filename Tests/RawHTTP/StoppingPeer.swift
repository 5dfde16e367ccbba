import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix
package import NIOSSL

/// A server on 127.0.0.1 that stops after some byte, and then neither goes on nor closes: the client has to.
///
/// It speaks HTTP/1.1 or HTTP/2, byte by byte; connections made after ``heal()`` are served to the end.
package final class StoppingPeer: Sendable {
    /// Where it stops.
    package enum Stop: Sendable, CaseIterable {
        /// No connection is taken.
        case connect
        /// A connection is taken, and nothing said on it.
        case tls
        /// TLS is there, and the peer's first frame does not come; HTTP/1.1 has none, so that it stops as ``silence``.
        case settings
        /// The request is read, and nothing said.
        case silence
        /// In the middle of the head, when the status has come.
        case head
        /// Behind the head, where the body would begin.
        case body
        /// In the middle of the body: of a frame, or of what `Content-Length` says.
        case frame
        /// In the middle of the trailers, which are the end.
        case trailers
    }

    package enum Wire: Sendable { case http1, http2 }

    /// What it answers to everything.
    package struct Answer: Sendable {
        package var status: Int
        package var headers: [(String, String)]
        package var body: [UInt8]

        package init(_ status: Int, _ headers: [(String, String)] = [], body: String = "0123456789") {
            self.status = status
            self.headers = headers
            self.body = Array(body.utf8)
        }
    }

    fileprivate struct State {
        var stop: Stop?
        var requests = 0
        var closed = 0
    }

    package let port: Int
    fileprivate let state: NIOLockedValueBox<State>
    private let listener: any Channel

    private init(_ listener: any Channel, _ state: NIOLockedValueBox<State>) {
        (self.port, self.listener, self.state) = (listener.localAddress?.port ?? 0, listener, state)
    }

    /// How many requests it has read.
    package var requests: Int { self.state.withLockedValue(\.requests) }
    /// How many connections clients have closed.
    package var closed: Int { self.state.withLockedValue(\.closed) }

    /// Serves all connections to come.
    package func heal() async throws {
        self.state.withLockedValue { $0.stop = nil }
        try await self.listener.setOption(.autoRead, value: true).get()
    }

    /// Serves while the body runs.
    ///
    /// - Parameters:
    ///   - wire: What it speaks.
    ///   - tls: Its certificate.
    ///   - stop: Where it stops; nil = nowhere.
    ///   - answer: The answer to a path.
    ///   - body: Is given the peer.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws.
    package static func run<Value>(
        _ wire: Wire,
        tls: NIOSSLContext,
        stopping stop: Stop?,
        answer: @escaping @Sendable (String) -> Answer,
        _ body: (StoppingPeer) async throws -> Value
    ) async throws -> Value {
        let state = NIOLockedValueBox(State(stop: stop))
        let isFull = stop == .connect
        let backlog: Int32 = isFull ? 0 : 64
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.backlog, value: backlog)
            .serverChannelOption(.autoRead, value: !isFull)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    guard ![.connect, .tls].contains(state.withLockedValue(\.stop)) else {
                        return try pipeline.addHandler(Mute(state))
                    }
                    try pipeline.addHandler(NIOSSLServerHandler(context: tls))
                    switch wire {
                    case .http1:
                        try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder()))
                        try pipeline.addHandler(HTTP1Answering(state, answer))
                    case .http2: try pipeline.addHandler(HTTP2Answering(state, answer))
                    }
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let peer = StoppingPeer(listener, state)
        // With a queue that is full the system answers no further connection.
        let filler = isFull ? try await peer.fill() : nil
        let result: Result<Value, any Error>
        do { result = .success(try await body(peer)) } catch { result = .failure(error) }
        filler?.close(promise: nil)
        try await listener.close()
        return try result.get()
    }

    private func fill() async throws -> any Channel {
        try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: "127.0.0.1", port: self.port).get()
    }
}

private final class Mute: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let state: NIOLockedValueBox<StoppingPeer.State>

    init(_ state: NIOLockedValueBox<StoppingPeer.State>) { self.state = state }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
    func channelInactive(context: ChannelHandlerContext) { self.state.withLockedValue { $0.closed += 1 } }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

private final class HTTP1Answering: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = ByteBuffer

    private let state: NIOLockedValueBox<StoppingPeer.State>
    private let answer: @Sendable (String) -> StoppingPeer.Answer
    private var path = ""

    init(_ state: NIOLockedValueBox<StoppingPeer.State>, _ answer: @escaping @Sendable (String) -> StoppingPeer.Answer)
    { (self.state, self.answer) = (state, answer) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .head(let head): self.path = head.uri
        case .body: break
        case .end:
            let stop = self.state.withLockedValue { state in
                state.requests += 1
                return state.stop
            }
            let bytes = self.answer(self.path).http1(until: stop)
            if !bytes.isEmpty { context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil) }
        }
    }

    func channelInactive(context: ChannelHandlerContext) { self.state.withLockedValue { $0.closed += 1 } }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

private final class HTTP2Answering: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private static let preface = 24
    private let state: NIOLockedValueBox<StoppingPeer.State>
    private let answer: @Sendable (String) -> StoppingPeer.Answer
    private var received: [UInt8] = []
    private var hasBegun = false
    /// Nothing more is said.
    private var hasStopped = false

    init(_ state: NIOLockedValueBox<StoppingPeer.State>, _ answer: @escaping @Sendable (String) -> StoppingPeer.Answer)
    { (self.state, self.answer) = (state, answer) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.received += Array(buffer: Self.unwrapInboundIn(data))
        if !self.hasBegun {
            guard self.received.count >= Self.preface else { return }
            self.received.removeFirst(Self.preface)
            self.hasBegun = true
            self.hasStopped = self.state.withLockedValue { $0.stop == .settings }
            self.write([0, 0, 0, 4, 0, 0, 0, 0, 0], context)
        }
        while self.received.count >= 9 {
            let length = Int(self.received[0]) << 16 | Int(self.received[1]) << 8 | Int(self.received[2])
            guard self.received.count >= 9 + length else { return }
            let frame = Array(self.received[..<(9 + length)])
            self.received.removeFirst(9 + length)
            self.take(frame, context)
        }
    }

    private func take(_ frame: [UInt8], _ context: ChannelHandlerContext) {
        switch (frame[3], frame[4] & 1) {
        // A request's last frame.
        case (0, 1), (1, 1):
            let stop = self.state.withLockedValue { state in
                state.requests += 1
                return state.stop
            }
            self.write(self.answer("").http2(until: stop, stream: Array(frame[5..<9])), context)
            if stop != nil { self.hasStopped = true }
        case (4, 0): self.write([0, 0, 0, 4, 1, 0, 0, 0, 0], context)
        case (6, 0): self.write([0, 0, 8, 6, 1, 0, 0, 0, 0] + frame[9...], context)
        default: break
        }
    }

    private func write(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
        guard !self.hasStopped, !bytes.isEmpty else { return }
        context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { self.state.withLockedValue { $0.closed += 1 } }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

extension StoppingPeer.Answer {
    /// The first bytes of the answer.
    fileprivate func http1(until stop: StoppingPeer.Stop?) -> [UInt8] {
        let hasTrailers = stop == .trailers
        let framing = hasTrailers ? "transfer-encoding: chunked" : "content-length: \(self.body.count)"
        let lines = self.headers.map { "\($0.0): \($0.1)\r\n" }.joined()
        let head = Array("HTTP/1.1 \(self.status) x\r\n\(framing)\r\n\(lines)\r\n".utf8)
        switch stop {
        case .connect, .tls, .settings, .silence: return []
        case .head: return Array(head.prefix(20))
        case .body: return head
        case .frame: return head + self.body.prefix(1)
        case .trailers:
            let chunk = Array("\(String(self.body.count, radix: 16))\r\n".utf8) + self.body + Array("\r\n".utf8)
            return head + chunk + Array("0\r\nx-end".utf8)
        case nil: return head + self.body
        }
    }

    fileprivate func http2(until stop: StoppingPeer.Stop?, stream: [UInt8]) -> [UInt8] {
        func frame(_ type: UInt8, _ flags: UInt8, _ payload: [UInt8]) -> [UInt8] {
            let count = payload.count
            return [UInt8(count >> 16 & 0xFF), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF), type, flags]
                + stream + payload
        }
        func field(_ name: String, _ value: String) -> [UInt8] {
            [0, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
        }
        // Of the static table's names number 8 is `:status`.
        let status = [8, 3] + Array("\(self.status)".utf8)
        let head = frame(1, 4, status + self.headers.flatMap { field($0.0, $0.1) } + field("x-more", "of it"))
        let data = frame(0, 0, self.body)
        let trailers = frame(1, 5, field("x-end", "of it"))
        return switch stop {
        case .connect, .tls, .settings, .silence: []
        case .head: Array(head.prefix(9 + status.count + 2))
        case .body: head
        case .frame: head + data.prefix(9 + self.body.count / 2)
        case .trailers: head + data + trailers.prefix(11)
        case nil: head + data + trailers
        }
    }
}
