import NIOCore
import NIOPosix
import NIOSSL

/// A connection of an HTTP/1.1 client that retries nothing and hides nothing.
package struct RawConnection {
    /// The server closed the connection before a whole answer was there.
    package struct BrokenOff: Error {
        /// What had come of the answer.
        package let text: String
    }

    private let channel: any Channel
    private var pieces: AsyncThrowingStream<String, any Error>.Iterator

    /// Connects to a server on 127.0.0.1.
    ///
    /// - Parameters:
    ///   - port: The server's.
    ///   - source: The loopback address to come from; nil = 127.0.0.1.
    ///   - authority: Speaks TLS with localhost, and trusts this certificate (PEM); nil = plain.
    ///   - protocols: What it offers with TLS.
    /// - Returns: The connection, on which nothing was said yet.
    /// - Throws: What kept it from being made.
    package static func open(
        port: Int,
        from source: String? = nil,
        trusting authority: String? = nil,
        protocols: [String] = ["http/1.1"]
    ) async throws -> RawConnection {
        let (pieces, continuation) = AsyncThrowingStream<String, any Error>.makeStream()
        let tls = try authority.map { try Self.tls(trusting: $0, protocols: protocols) }
        var bootstrap = ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls {
                        let handler = try NIOSSLClientHandler(context: tls, serverHostname: "localhost")
                        try channel.pipeline.syncOperations.addHandler(handler)
                    }
                    try channel.pipeline.syncOperations.addHandler(Reader(continuation))
                }
            }
        if let source { bootstrap = bootstrap.bind(to: try SocketAddress(ipAddress: source, port: 0)) }
        let channel =
            try await bootstrap
            .connect(host: "127.0.0.1", port: port).get()
        return RawConnection(channel: channel, pieces: pieces.makeAsyncIterator())
    }

    private static func tls(trusting authority: String, protocols: [String]) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(authority.utf8)))
        configuration.applicationProtocols = protocols
        return try NIOSSLContext(configuration: configuration)
    }

    package func close() { self.channel.close(promise: nil) }

    /// Writes a request and reads one answer with a `Content-Length`.
    package mutating func exchange(_ request: String) async throws -> String {
        var text = ""
        do {
            try await self.channel.writeAndFlush(ByteBuffer(string: request))
        } catch { throw BrokenOff(text: text) }
        while !Self.isWhole(text) {
            guard let piece = try await self.pieces.next(isolation: #isolation) else { throw BrokenOff(text: text) }
            text += piece
        }
        return text
    }

    /// Writes bytes, whatever they are.
    ///
    /// - Throws: ``BrokenOff`` when the server has closed.
    package func write(_ bytes: [UInt8]) async throws {
        do { try await self.channel.writeAndFlush(ByteBuffer(bytes: bytes)) } catch { throw BrokenOff(text: "") }
    }

    /// Reads until these characters have come, and what has come with them.
    ///
    /// - Throws: ``BrokenOff`` when the server closes before.
    package mutating func text(to mark: String) async throws -> String {
        var text = ""
        while !text.contains(mark) {
            guard let piece = try await self.pieces.next(isolation: #isolation) else { throw BrokenOff(text: text) }
            text += piece
        }
        return text
    }

    /// Reads until the server closes.
    package mutating func rest() async throws -> String {
        var text = ""
        while let piece = try await self.pieces.next(isolation: #isolation) { text += piece }
        return text
    }

    private static func isWhole(_ text: String) -> Bool {
        let halves = text.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2 else { return false }
        let length = halves[0].split(separator: "\r\n")
            .first { $0.lowercased().hasPrefix("content-length: ") }
            .flatMap { Int($0.dropFirst(16)) }
        return halves[1].utf8.count >= length ?? 0
    }

    private final class Reader: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        let pieces: AsyncThrowingStream<String, any Error>.Continuation

        init(_ pieces: AsyncThrowingStream<String, any Error>.Continuation) { self.pieces = pieces }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.pieces.yield(String(buffer: self.unwrapInboundIn(data)))
        }

        func channelInactive(context: ChannelHandlerContext) { self.pieces.finish() }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            // A server that gives up says so to nobody.
            if case NIOSSLError.uncleanShutdown = error { return self.pieces.finish() }
            self.pieces.finish(throwing: error)
        }
    }
}
