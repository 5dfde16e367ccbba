import NIOCore
import NIOPosix
import NIOSSL
import PushModel

/// Looks at the certificate that a server shows, trusted or not: an end that is past can be told only so.
enum PresentedCertificate {
    /// When the server's own certificate ends.
    ///
    /// The connection ends in the middle of its handshake: nothing is sent on it.
    ///
    /// - Parameters:
    ///   - host: Its name or address.
    ///   - port: Its port.
    ///   - patience: How long it may take.
    /// - Returns: nil if it shows none in that time.
    static func end(host: String, port: Int, patience: Duration = .seconds(10)) async -> Timestamp? {
        let group = MultiThreadedEventLoopGroup.singleton
        let shown = group.next().makePromise(of: Timestamp?.self)
        let limit = TimeAmount(patience)
        do {
            let context = try NIOSSLContext(configuration: .makeClientConfiguration())
            let channel = try await ClientBootstrap(group: group)
                .connectTimeout(limit)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let handler = try NIOSSLClientHandler(
                            context: context,
                            serverHostname: IPAddress(host) == nil ? host : nil,
                            customVerificationCallback: { certificates, verdict in
                                let end = certificates.first.map { Int64($0.notValidAfter) * 1000 }
                                shown.succeed(end.map { Timestamp(milliseconds: $0) })
                                verdict.succeed(.failed)
                            }
                        )
                        try channel.pipeline.syncOperations.addHandler(handler)
                    }
                }
                .connect(host: host, port: port).get()
            let timer = channel.eventLoop.scheduleTask(in: limit) { channel.close(promise: nil) }
            channel.closeFuture.whenComplete { _ in
                timer.cancel()
                shown.succeed(nil)
            }
            let end = try await shown.futureResult.get()
            channel.close(promise: nil)
            return end
        } catch {
            shown.succeed(nil)
            return nil
        }
    }
}
