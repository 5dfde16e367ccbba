import Foundation
package import Hummingbird
package import HummingbirdCore
package import Logging
package import NIOCore
import NIOPosix
import ServiceLifecycle
import Settings

/// Listens and serves connections; a drain loses no connection and no answer.
///
/// Hummingbird's own server binds its port exclusively and closes idle connections at once (decision 15).
package struct HTTPListener<Child: ServerChildChannel>: Service {
    /// The channel of a connection: HTTP/1.1, or HTTP/2 over TLS.
    let child: Child
    let host: String
    /// Tried one after the other until one is free.
    let ports: [Int]
    /// Where host and port are configured: `api.host, api.port`.
    let keys: String
    /// Set where other processes of this installation may listen on the same port.
    let claim: (any PortSharing)?
    let limits: ConnectionLimits
    let logger: Logger
    let onServing: @Sendable (SocketAddress?) -> Void

    /// - Parameters:
    ///   - child: The channel of a connection: HTTP/1.1, or HTTP/2 over TLS.
    ///   - host: The address to listen on.
    ///   - ports: Tried one after the other until one is free.
    ///   - keys: Where host and port are configured: `api.host, api.port`.
    ///   - claim: Set where other processes of this installation may listen on the same port.
    ///   - limits: How many connections it holds, and how long one may do nothing.
    ///   - logger: The logger of the server.
    ///   - onServing: Called with its address when it serves.
    package init(
        child: Child,
        host: String,
        ports: [Int],
        keys: String,
        claim: (any PortSharing)? = nil,
        limits: ConnectionLimits = ConnectionLimits(),
        logger: Logger,
        onServing: @escaping @Sendable (SocketAddress?) -> Void
    ) {
        self.child = child
        self.host = host
        self.ports = ports
        self.keys = keys
        self.claim = claim
        self.limits = limits
        self.logger = logger
        self.onServing = onServing
    }

    private typealias Listener = NIOAsyncChannel<Child.Value, Never>

    package func run() async throws {
        let connections = OpenConnections(self.limits, logger: self.logger)
        let listener = try await self.bind(connections)
        self.onServing(listener.channel.localAddress)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.drain(listener.channel, connections) }
            await self.serve(listener)
            group.cancelAll()
        }
        self.claim?.release()
    }

    private func bind(_ connections: OpenConnections) async throws -> Listener {
        do {
            for port in self.ports.dropLast() {
                do { return try await self.bind(port, connections) } catch let error as IOError {
                    guard error.errnoCode == EADDRINUSE else { throw error }
                }
            }
            return try await self.bind(self.ports.last ?? 0, connections)
        } catch let error as IOError {
            let ports = self.ports.map(String.init).joined(separator: ", ")
            throw ConfigurationError("\(self.keys): cannot listen on \(self.host):\(ports): \(error.reason)")
        }
    }

    private func bind(_ port: Int, _ connections: OpenConnections) async throws -> Listener {
        let isShared = try await self.claim?.take(host: self.host, port: port) ?? false
        let (child, logger, limits) = (RetainedConnections(self.child), self.logger, self.limits)
        return try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(.socketOption(NIOBSDSocket.Option(rawValue: SO_REUSEPORT)), value: isShared ? 1 : 0)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.socketOption(.so_keepalive), value: 1)
            .seeingProgress(silence: limits.deadlines.request)
            .bind(host: self.host, port: port) { channel in
                let deadlines = ConnectionDeadlines(
                    limits: limits.deadlines,
                    admit: { connections.admit($0, rank: $1) },
                    onEnd: { connections.report($0) }
                )
                let value = channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(deadlines, position: .first)
                }.flatMap { child.setup(channel: channel, logger: logger) }
                // The listener drops a channel whose set-up failed without closing it.
                value.whenFailure { _ in channel.close(promise: nil) }
                return value
            }
    }

    /// Until the port is closed and every connection has ended.
    private func serve(_ listener: Listener) async {
        let (child, logger) = (self.child, self.logger)
        await withDiscardingTaskGroup { group in
            do {
                try await listener.executeThenClose { inbound in
                    for try await connection in inbound {
                        group.addTask { await child.handle(value: connection, logger: logger) }
                    }
                }
            } catch is CancellationError {
                // The grace of a shutdown is over.
            } catch {
                logger.error("The listener failed: no new connections are accepted", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Waits for the shutdown; then accepts queued connections, closes the port, and asks connections to end until all
    /// have.
    private func drain(_ channel: any Channel, _ connections: OpenConnections) async {
        // Cancelled = something else has ended the server.
        do { try await gracefulShutdown() } catch { return }
        connections.askToEnd()
        await ListenQueue(channel, logger: self.logger).empty()
        // Closed before the claim is released, because the next holder of the claim checks whether the port is free. A
        // failure = it is closed.
        try? await channel.close()
        self.claim?.release()
        while !Task.isCancelled {
            // Repeated, because a connection in its TLS handshake misses the event. Cancelled = all have ended.
            connections.askToEnd()
            try? await Task.sleep(for: .milliseconds(100))
        }
    }
}

extension HTTPListener {
    /// Answers requests with the responder's response and the common headers.
    package static func answer<Responder: HTTPResponder>(
        with responder: Responder,
        logger: Logger
    ) -> HTTPChannelHandler.Responder
    where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
        let dates = HTTPDates()
        return { request, writer, channel in
            // Without an `hb.request.id` in the logger: its context has its own id.
            let source = ApplicationRequestContextSource(channel: channel, logger: logger)
            var response = try await responder.respond(to: request, context: Responder.Context(source: source))
            response.headers[.date] = dates.now
            try await writer.write(response: response.head, body: response.body)
        }
    }
}

extension ServerBootstrap {
    /// Limits the system's send buffer, so that a client that reads nothing is noticed, and lets the system drop
    /// vanished clients.
    fileprivate func seeingProgress(silence: TimeAmount) -> ServerBootstrap {
        #if os(Linux)
        let unsent = ChannelOptions.tcpOption(NIOBSDSocket.Option(rawValue: TCP_NOTSENT_LOWAT))
        let timeout = ChannelOptions.tcpOption(NIOBSDSocket.Option(rawValue: TCP_USER_TIMEOUT))
        return self.childChannelOption(unsent, value: WriteProgress.minimum)
            .childChannelOption(timeout, value: Int(2 * silence.nanoseconds / 1_000_000))
        #else
        return self
        #endif
    }
}

extension IOError {
    /// The system's text for the error, without the name of the call.
    fileprivate var reason: String {
        switch self.errnoCode {
        case EADDRINUSE: "another process does"
        case EADDRNOTAVAIL: "it is not an address of this host"
        case EACCES: "only root may (a port below 1024)"
        default: self.description
        }
    }
}
