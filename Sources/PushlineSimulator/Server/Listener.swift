import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL
import NIOTLS

/// Opens the simulator's ports.
struct Listener {
    var group: MultiThreadedEventLoopGroup
    var host = "127.0.0.1"

    /// The protocols over TLS.
    enum Protocols: Sendable {
        /// Only ALPN h2; other connections are closed. A client may show a certificate, and has other streams then.
        case http2(streams: Int, certified: Int)
        /// By ALPN.
        case either(streams: Int)
        case http1

        var names: [String] {
            switch self {
            case .http2: ["h2"]
            case .either: ["h2", "http/1.1"]
            case .http1: ["http/1.1"]
            }
        }

        var takesCertificates: Bool { if case .http2 = self { true } else { false } }
    }

    /// Listens with TLS; asks at each connection whether something is to go wrong with it.
    func bind(
        port: Int,
        keys: KeyMaterial,
        protocols: Protocols,
        responder: any Responder,
        fault: @escaping @Sendable () -> SimulatorFault.Action?
    ) async throws -> any Channel {
        let takesCertificates = protocols.takesCertificates
        let tls = try keys.serverContext(protocols: protocols.names, takesCertificates: takesCertificates)
        let expired = try keys.serverContext(
            protocols: protocols.names,
            takesCertificates: takesCertificates,
            isExpired: true
        )
        return try await self.bind(port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                let fault = fault()
                // A muted connection ignores its input.
                if fault == .mute { return }
                if fault == .plain { return try pipeline.addHandler(PlainTextHandler()) }
                try pipeline.addHandler(NIOSSLServerHandler(context: fault == .expiredCertificate ? expired : tls))
                try pipeline.addHandler(
                    ApplicationProtocolNegotiationHandler { result, channel in
                        channel.eventLoop.makeCompletedFuture {
                            try Self.serve(channel, result, protocols, responder)
                        }
                    }
                )
            }
        }
    }

    /// Listens in plain text, HTTP/1.1.
    func bindPlain(port: Int, responder: any Responder) async throws -> any Channel {
        try await self.bind(port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
                try Self.serveHTTP1(channel, responder)
            }
        }
    }

    private func bind(
        port: Int,
        _ initialize: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
    ) async throws -> any Channel {
        try await ServerBootstrap(group: self.group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer(initialize)
            .bind(host: self.host, port: port)
            .get()
    }

    private static func serve(
        _ channel: any Channel,
        _ result: ALPNResult,
        _ protocols: Protocols,
        _ responder: any Responder
    ) throws {
        switch (protocols, result) {
        case (.http2(let streams, let certified), .negotiated("h2")):
            let shown = try channel.pipeline.syncOperations.nioSSL_peerCertificate()
            let certificate = try shown.map { try APNsCertificate($0) }
            let memory = ConnectionMemory(certificate: certificate)
            try Self.serveHTTP2(channel, streams: certificate == nil ? streams : certified, responder, memory)
        case (.either(let streams), .negotiated("h2")):
            try Self.serveHTTP2(channel, streams: streams, responder, ConnectionMemory())
        case (.http2, _):
            channel.close(promise: nil)
        case (.either, _), (.http1, _):
            try Self.serveHTTP1(channel, responder)
        }
    }

    private static func serveHTTP2(
        _ channel: any Channel,
        streams: Int,
        _ responder: any Responder,
        _ memory: ConnectionMemory
    ) throws {
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: streams),
            HTTP2Setting(parameter: .maxHeaderListSize, value: 16_384),
        ]
        // A load generator may ping and cancel as it likes.
        connection.controlFrameRateLimit.maximumCount = 100_000
        connection.maximumRecentlyResetStreams = 1000
        var stream = NIOHTTP2Handler.StreamConfiguration()
        stream.streamResetFrameRateLimit.maximumCount = 1_000_000
        stream.streamErrorRateLimit.maximumCount = 1_000_000
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(
            NIOHTTP2Handler(mode: .server, connectionConfiguration: connection, streamConfiguration: stream)
        )
        try pipeline.addHandler(HTTP2ServerHandler(responder: responder, memory: memory))
    }

    private static func serveHTTP1(_ channel: any Channel, _ responder: any Responder) throws {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(HTTPResponseEncoder())
        try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)))
        try pipeline.addHandler(HTTP1ServerHandler(responder: responder))
    }
}

/// Answers the first bytes with plain text, and leaves the rest to the client.
private final class PlainTextHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var isDone = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.isDone else { return }
        self.isDone = true
        let text = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"
        context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
    }
}
