import NIOCore
import NIOPosix
import NIOSSL
import StoreContract

/// Stands before a server and speaks TLS for it, in records as long as there may be, as PostgreSQL 17 does.
final class RecordRelay: Sendable {
    let port: Int
    private let listener: any Channel

    /// - Parameters:
    ///   - server: A port of the loopback where the server takes connections without TLS.
    ///   - certificate: A file.
    ///   - key: A file.
    /// - Throws: What NIO throws.
    init(before server: Int, certificate: String, key: String) throws {
        let settings = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem))
        )
        let context = try NIOSSLContext(configuration: settings)
        self.listener = try ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { client in
                client.eventLoop.makeCompletedFuture {
                    try client.pipeline.syncOperations.addHandler(ClientSide(server: server, context))
                }
            }
            .bind(host: "127.0.0.1", port: 0).wait()
        guard let port = self.listener.localAddress?.port else { throw Unexpected("the relay has no port") }
        self.port = port
    }

    deinit { self.listener.close(promise: nil) }
}

/// Answers the client's request for TLS, and passes on what comes then.
private final class ClientSide: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let server: Int
    private let context: NIOSSLContext
    private var isEncrypted = false
    private var connection: EventLoopFuture<any Channel>?

    init(server: Int, _ context: NIOSSLContext) { (self.server, self.context) = (server, context) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = self.unwrapInboundIn(data)
        guard self.isEncrypted else {
            self.isEncrypted = true
            let client = context.channel
            client.writeAndFlush(ByteBuffer(string: "S"), promise: nil)
            do {
                let handler = NIOSSLServerHandler(context: self.context)
                try client.pipeline.syncOperations.addHandler(handler, position: .first)
            } catch { return client.close(promise: nil) }
            self.connection = ClientBootstrap(group: client.eventLoop)
                .channelInitializer { server in
                    server.eventLoop.makeCompletedFuture {
                        try server.pipeline.syncOperations.addHandler(ServerSide(client: client))
                    }
                }
                .connect(host: "127.0.0.1", port: self.server)
            return
        }
        self.connection?.whenSuccess { $0.writeAndFlush(bytes, promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.connection?.whenSuccess { $0.close(promise: nil) }
    }
}

/// Gathers what the server sends within a moment.
private final class ServerSide: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let client: any Channel
    private var gathered: ByteBuffer?

    init(client: any Channel) { self.client = client }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = self.unwrapInboundIn(data)
        if self.gathered != nil {
            self.gathered?.writeImmutableBuffer(bytes)
            return
        }
        self.gathered = bytes
        context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(5)) {
            if let gathered = self.gathered { self.client.writeAndFlush(gathered, promise: nil) }
            self.gathered = nil
        }
    }

    func channelInactive(context: ChannelHandlerContext) { self.client.close(promise: nil) }
}
