import NIOCore
package import NIOHTTP1
import NIOPosix
package import NIOSSL

/// A server on 127.0.0.1 that does to each request what a test says, down to the bytes, and closes nothing by itself.
package struct RawServer: Sendable {
    package struct Request: Sendable {
        package let method: String
        /// Path and query, as they came.
        package let target: String
        package let headers: HTTPHeaders
        package let body: [UInt8]
    }

    package enum Reply: Sendable {
        /// These bytes, as they are.
        case bytes([UInt8])
        /// These bytes, and a reset of the connection in place of more.
        case cut(after: [UInt8])
        case silence

        /// An answer of HTTP/1.1 whose length its header says.
        package static func answer(
            _ status: Int,
            _ headers: [(String, String)] = [],
            body: [UInt8] = []
        ) -> Reply {
            let lines = headers.map { "\($0): \($1)\r\n" }.joined()
            let head = "HTTP/1.1 \(status) x\r\ncontent-length: \(body.count)\r\n\(lines)\r\n"
            return .bytes(Array(head.utf8) + body)
        }
    }

    /// How the server meets a connection.
    package enum Door: Sendable {
        case tls(NIOSSLContext)
        /// Without TLS.
        case plain
        /// It closes it before a word is said.
        case closed
        /// It takes it and says nothing.
        case mute
    }

    package let port: Int

    /// Serves while the body runs.
    ///
    /// - Parameters:
    ///   - door: How connections are met.
    ///   - react: Says what a request gets; those of several connections come at once.
    ///   - body: Is given the server.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws.
    package static func run<Value>(
        _ door: Door,
        react: @escaping @Sendable (Request) async -> Reply,
        _ body: (RawServer) async throws -> Value
    ) async throws -> Value {
        let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try Self.initialize(channel, door, react) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let result: Result<Value, any Error>
        do { result = .success(try await body(RawServer(port: channel.localAddress?.port ?? 0))) } catch {
            result = .failure(error)
        }
        try await channel.close()
        return try result.get()
    }

    private static func initialize(
        _ channel: any Channel,
        _ door: Door,
        _ react: @escaping @Sendable (Request) async -> Reply
    ) throws {
        switch door {
        case .closed: channel.close(promise: nil)
        case .mute: break
        case .tls(let context):
            try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
            try Self.serve(channel, react)
        case .plain: try Self.serve(channel, react)
        }
    }

    private static func serve(
        _ channel: any Channel,
        _ react: @escaping @Sendable (Request) async -> Reply
    ) throws {
        try channel.pipeline.syncOperations.addHandler(ByteToMessageHandler(HTTPRequestDecoder()))
        try channel.pipeline.syncOperations.addHandler(Reacting(react))
    }

    private final class Reacting: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = ByteBuffer

        private let react: @Sendable (Request) async -> Reply
        private var head: HTTPRequestHead?
        private var body: [UInt8] = []

        init(_ react: @escaping @Sendable (Request) async -> Reply) { self.react = react }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch Self.unwrapInboundIn(data) {
            case .head(let head): (self.head, self.body) = (head, [])
            case .body(let part): self.body += Array(buffer: part)
            case .end:
                guard let head = self.head else { return }
                let request = Request(
                    method: head.method.rawValue,
                    target: head.uri,
                    headers: head.headers,
                    body: self.body
                )
                let (react, channel) = (self.react, context.channel)
                context.eventLoop.makeFutureWithTask { await react(request) }
                    .whenSuccess { Self.give($0, channel) }
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        private static func give(_ reply: Reply, _ channel: any Channel) {
            switch reply {
            case .silence: break
            case .bytes(let bytes): channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
            case .cut(let bytes):
                channel.writeAndFlush(ByteBuffer(bytes: bytes)).whenComplete { _ in Self.reset(channel) }
            }
        }

        /// Without the farewell of TLS: the other side hears of a reset, or of an end in the middle.
        private static func reset(_ channel: any Channel) {
            let options = channel as? any SocketOptionProvider
            options?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in
                channel.pipeline.context(handlerType: NIOSSLServerHandler.self).whenSuccess { $0.close(promise: nil) }
            }
        }
    }
}
