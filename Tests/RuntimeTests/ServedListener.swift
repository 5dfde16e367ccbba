import Foundation
import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NIOSSL
import ServiceLifecycle
import Testing

@testable import PushlineSimulator
@testable import Runtime
@testable import WebServing

/// A listener as the API has it, with routes for the tests of connections.
enum ServedListener {
    static let quiet: Logger = {
        var logger = Logger(label: "test.listener")
        logger.logLevel = .critical
        return logger
    }()

    /// How many bytes `/big` has: more than the systems on both sides keep for a connection.
    static let big = 16 << 20

    /// How many bytes `/medium` has.
    static let medium = 1 << 20

    /// Limits in milliseconds.
    static func limits(
        request: Int64,
        idle: Int64? = nil,
        connections: Int = 1000,
        perPeer: Int = 0
    ) -> ConnectionLimits {
        ConnectionLimits(
            deadlines: ConnectionDeadlines.Limits(
                request: .milliseconds(request),
                idle: .milliseconds(idle ?? request),
                timeout: .milliseconds(200)
            ),
            connections: connections,
            perPeer: perPeer
        )
    }

    /// Serves `/name`, `/big`, `/slow`, `/lost`, which gets no answer, and others as long as the body runs.
    ///
    /// `/held` begins its answer at once, and ends it when `isReleased` is true.
    ///
    /// - Parameters:
    ///   - limits: The limits of connections.
    ///   - tls: Whether it speaks TLS.
    ///   - patience: How long it waits for a client to close, after it has closed its own side.
    ///   - isReleased: See above.
    ///   - body: Gets the port.
    /// - Throws: The body's error.
    static func run(
        _ limits: ConnectionLimits,
        tls: Bool = false,
        patience: TimeAmount = .milliseconds(500),
        isReleased: NIOLockedValueBox<Bool> = NIOLockedValueBox(true),
        _ body: @escaping @Sendable (Int) async throws -> Void
    ) async throws {
        let router = Router()
        router.get("name") { _, _ in "a" }
        router.get("lost") { _, _ -> String in throw Unanswered() }
        router.get("big") { _, _ in
            Response(status: .ok, body: ResponseBody(byteBuffer: ByteBuffer(repeating: 120, count: Self.big)))
        }
        router.get("medium") { _, _ in
            Response(status: .ok, body: ResponseBody(byteBuffer: ByteBuffer(repeating: 120, count: Self.medium)))
        }
        router.get("slow") { _, _ in
            try await Task.sleep(for: .seconds(2))
            return "late"
        }
        router.get("held") { _, _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    try await writer.write(ByteBuffer(string: "begun"))
                    while !isReleased.withLockedValue({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
                    try await writer.write(ByteBuffer(string: "ended"))
                    try await writer.finish(nil)
                }
            )
        }
        // What an answer of chunks comes to for HEAD.
        router.head("chunks") { _, _ in
            var response = Response(status: .ok)
            response.headers[.contentLength] = nil
            return response
        }
        router.post("name") { request, _ in
            "\(try await request.body.collect(upTo: 1000).readableBytes)"
        }
        let answer = HTTPListener<HTTP1Channel>.answer(with: router.buildResponder(), logger: Self.quiet)
        let time = limits.deadlines.request
        let http1 = HTTP1Channel.Configuration(
            additionalChannelHandlers: [
                StreamDeadlines(limit: time), HTTPParserErrorHandler(headerSize: 1000),
                EarlyResponseHandler(timeout: patience, longest: .seconds(20)),
            ]
        )
        guard tls else {
            return try await Self.run(HTTP1Channel(responder: answer, configuration: http1), limits, body)
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "listener-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let material = try KeyMaterial.load(folder: nil)
        let (certificate, key) = (folder.appending(path: "chain.pem"), folder.appending(path: "key.pem"))
        try Data(material.serverPEM.utf8).write(to: certificate)
        try Data(material.serverKeyPEM.utf8).write(to: key)
        let served = try ServedCertificate(certificateFile: certificate.path, keyFile: key.path, logger: Self.quiet) {
            try HTTP2UpgradeChannel(
                tlsConfiguration: $0,
                configuration: HTTP2ChannelConfiguration(streamConfiguration: http1),
                responder: answer
            )
        }
        try await Self.run(served, limits, body)
        try FileManager.default.removeItem(at: folder)
    }

    private static func run(
        _ child: some ServerChildChannel,
        _ limits: ConnectionLimits,
        _ body: @escaping @Sendable (Int) async throws -> Void
    ) async throws {
        let (ports, continuation) = AsyncStream<Int>.makeStream()
        let listener = HTTPListener(
            child: child,
            host: "127.0.0.1",
            ports: [0],
            keys: "api.host, api.port",
            limits: limits,
            logger: Self.quiet,
            onServing: { continuation.yield($0?.port ?? 0) }
        )
        let group = ServiceGroup(services: [listener], logger: Self.quiet)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            let port = try #require(await ports.first { _ in true })
            try await body(port)
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }
}

/// A client that does what a test says, and nothing by itself: not even read, where it shall not.
final class Stranger: Sendable {
    let channel: any Channel
    private let received: Received

    private init(_ channel: any Channel, _ received: Received) {
        self.channel = channel
        self.received = received
    }

    /// - Parameters:
    ///   - port: The listener's.
    ///   - reads: Whether it reads what comes; else the window is small.
    ///   - from: Its address.
    ///   - alpn: Speaks TLS, and offers this.
    /// - Returns: The client.
    /// - Throws: What keeps it from connecting.
    static func connect(
        port: Int,
        reads: Bool = true,
        from: String? = nil,
        alpn: String? = nil
    ) async throws -> Stranger {
        let received = Received()
        var bootstrap = ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelOption(.autoRead, value: reads)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let alpn {
                        var tls = TLSConfiguration.makeClientConfiguration()
                        tls.certificateVerification = .none
                        tls.applicationProtocols = [alpn]
                        let context = try NIOSSLContext(configuration: tls)
                        let handler = try NIOSSLClientHandler(context: context, serverHostname: nil)
                        try channel.pipeline.syncOperations.addHandler(handler)
                    }
                    try channel.pipeline.syncOperations.addHandler(Reader(received))
                }
            }
        if !reads { bootstrap = bootstrap.channelOption(.socketOption(.so_rcvbuf), value: 4096) }
        if let from { bootstrap = bootstrap.bind(to: try SocketAddress(ipAddress: from, port: 0)) }
        return Stranger(try await bootstrap.connect(host: "127.0.0.1", port: port).get(), received)
    }

    func send(_ text: String) async throws { try await self.send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) async throws { try await self.channel.writeAndFlush(ByteBuffer(bytes: bytes)) }

    /// Has each `read()` take so many bytes at most.
    func readPieces(of size: Int) async throws {
        try await self.channel.setOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: size)).get()
        try await self.channel.setOption(.maxMessagesPerRead, value: 1).get()
    }

    var bytes: [UInt8] { self.received.bytes.withLockedValue { $0 } }
    var text: String { String(decoding: self.bytes, as: UTF8.self) }

    /// Waits until the other side has closed.
    func end(within limit: Duration) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            let closed = self.channel.closeFuture
            group.addTask { try await closed.get() }
            group.addTask {
                try await Task.sleep(for: limit)
                throw StillOpen()
            }
            try await group.next()
            group.cancelAll()
        }
    }

    struct StillOpen: Error {}

    fileprivate struct Received: Sendable {
        let bytes = NIOLockedValueBox<[UInt8]>([])
    }

    private final class Reader: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        let received: Received

        init(_ received: Received) { self.received = received }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let piece = self.unwrapInboundIn(data)
            self.received.bytes.withLockedValue { $0.append(contentsOf: piece.readableBytesView) }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
