import Crypto
import Foundation
import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import ServiceLifecycle
import Testing
import Undisturbed
import WebServing

@testable import PushlineSimulator
@testable import Runtime

/// The certificate of the API, replaced while it serves.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct ServedCertificateTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "certificate-\(UUID().uuidString)")

    private var certificate: String { self.folder.appending(path: "chain.pem").path }
    private var key: String { self.folder.appending(path: "key.pem").path }

    private func put(certificate: String? = nil, key: String? = nil) throws {
        if let certificate { try Data(certificate.utf8).write(to: URL(filePath: self.certificate), options: .atomic) }
        if let key { try Data(key.utf8).write(to: URL(filePath: self.key), options: .atomic) }
    }

    /// Whether a client that trusts this authority alone is content with the server.
    private static func isTrusted(_ authority: String, port: Int) async throws -> Bool {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(authority.utf8)))
        let context = try NIOSSLContext(configuration: configuration)
        let shaken = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: Bool.self)
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let tls = try NIOSSLClientHandler(context: context, serverHostname: "localhost")
                    try channel.pipeline.syncOperations.addHandlers([tls, Handshake(shaken)])
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        let isTrusted = try await shaken.futureResult.get()
        channel.close(promise: nil)
        return isTrusted
    }

    private final class Handshake: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        let shaken: EventLoopPromise<Bool>

        init(_ shaken: EventLoopPromise<Bool>) { self.shaken = shaken }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case TLSUserEvent.handshakeCompleted? = event as? TLSUserEvent { self.shaken.succeed(true) }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { self.shaken.succeed(false) }
        func channelInactive(context: ChannelHandlerContext) { self.shaken.succeed(false) }
    }

    @Test func newConnectionsGetAReplacedCertificateOnceItIsValid() async throws {
        let material = try KeyMaterial.load(folder: nil)
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        try self.put(certificate: material.expiredPEM, key: material.serverKeyPEM)
        var logger = Logger(label: "test.certificate")
        logger.logLevel = .critical
        let router = Router()
        router.get("name") { _, _ in "a" }
        let answer = HTTPListener<HTTP1Channel>.answer(with: router.buildResponder(), logger: logger)
        let served = try ServedCertificate(
            certificateFile: self.certificate,
            keyFile: self.key,
            interval: .milliseconds(20),
            logger: logger
        ) { try HTTP2UpgradeChannel(tlsConfiguration: $0, responder: answer) }
        let (ports, continuation) = AsyncStream<Int>.makeStream()
        let listener = HTTPListener(
            child: served,
            host: "127.0.0.1",
            ports: [0],
            keys: "api.host, api.port",
            logger: logger,
            onServing: { continuation.yield($0?.port ?? 0) }
        )
        let group = ServiceGroup(services: [served, listener], logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            let port = try #require(await ports.first { _ in true })
            #expect(try await !Self.isTrusted(material.authorityPEM, port: port))
            try self.put(certificate: material.serverPEM)
            let end = ContinuousClock.now + .seconds(30)
            while ContinuousClock.now < end, try await !Self.isTrusted(material.authorityPEM, port: port) {
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(try await Self.isTrusted(material.authorityPEM, port: port))
            // A key that is another certificate's, and a file that is none: what worked is served on.
            try self.put(key: material.apnsKey.pemRepresentation)
            try await Task.sleep(for: .milliseconds(200))
            #expect(try await Self.isTrusted(material.authorityPEM, port: port))
            try self.put(certificate: "-----BEGIN CERT", key: material.serverKeyPEM)
            try await Task.sleep(for: .milliseconds(200))
            #expect(try await Self.isTrusted(material.authorityPEM, port: port))
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
        try FileManager.default.removeItem(at: self.folder)
    }
}
