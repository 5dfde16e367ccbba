import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle
import WebServing

/// Serves a worker's `/healthz`, `/readyz` and `/metrics` on its own port.
struct AdminServer: Service {
    let host: String
    let port: Int
    /// Where host and port are configured.
    let keys: String
    let health: ProcessHealth
    /// Is told the port.
    let reporter: ProcessReporter
    /// Called when it serves.
    let onServing: @Sendable () -> Void
    let logger: Logger

    func run() async throws {
        let router = Router()
        router.get("healthz") { [health] _, _ in health.health() }
        router.get("readyz") { [health] _, _ in await health.readiness() }
        router.get("metrics") { [health] _, _ in await health.metrics() }
        let logger = self.logger
        let configuration = HTTP1Channel.Configuration(additionalChannelHandlers: [EarlyResponseHandler()])
        let answer = HTTPListener<HTTP1Channel>.answer(with: router.buildResponder(), logger: logger.quiet)
        let (port, reporter, onServing) = (self.port, self.reporter, self.onServing)
        try await HTTPListener(
            child: HTTP1Channel(responder: answer, configuration: configuration),
            host: self.host,
            ports: self.ports,
            keys: self.keys,
            logger: logger.quiet,
            onServing: { address in
                logger.info(
                    "Health and metrics are served",
                    metadata: address.metadata
                )
                if let taken = address?.port, port != 0, taken != port {
                    logger.notice(
                        "The port for health and metrics is taken; another one is used",
                        metadata: ["server.port": "\(port)", "instead": "\(taken)"]
                    )
                }
                reporter.tell { $0.port = address?.port }
                onServing()
            }
        ).run()
    }

    /// Further ports for a second worker of the kind, as during a rolling restart.
    ///
    /// The range is fixed, so that a scraper knows it.
    var ports: [Int] {
        self.port == 0 ? [0] : (0..<Self.places).map { self.port + 10 * $0 }.filter { $0 <= 65_535 }
    }

    /// The most workers of a kind on a host with one configuration.
    private static let places = 10
}

extension Logger {
    /// A logger for the HTTP server, whose own start messages duplicate ours.
    var quiet: Logger {
        var quiet = self
        quiet.logLevel = max(self.logLevel, .warning)
        return quiet
    }
}

extension SocketAddress? {
    /// The fields of a line that says where a server listens.
    var metadata: Logger.Metadata {
        guard let address = self?.ipAddress, let port = self?.port else { return ["server.address": "unknown"] }
        return ["server.address": "\(address)", "server.port": "\(port)"]
    }
}
