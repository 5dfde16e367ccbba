import HTTPAPI
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle

/// Serves a worker's `/healthz`, `/readyz` and `/metrics` on a port of its own.
struct AdminServer: Service {
    let host: String
    let port: Int
    /// Where host and port are configured.
    let keys: String
    let health: ProcessHealth
    let logger: Logger

    func run() async throws {
        let router = Router()
        router.get("healthz") { [health] _, _ in health.health() }
        router.get("readyz") { [health] _, _ in await health.readiness() }
        router.get("metrics") { [health] _, _ in health.metrics() }
        let logger = self.logger
        let application = Application(
            router: router,
            server: .http1(configuration: HTTP1Channel.Configuration(idleTimeout: TimeAmount.seconds(30))),
            configuration: ApplicationConfiguration(address: .hostname(self.host, port: self.port)),
            onServerRunning: { channel in
                logger.info(
                    "Health and metrics are served",
                    metadata: ["http.address": "\(channel.localAddress?.text ?? "unknown")"]
                )
            },
            logger: logger.quiet
        )
        try await Listening(server: application, keys: self.keys, address: "\(self.host):\(self.port)").run()
    }
}

extension Logger {
    /// For a server's own words: what it says of its start we say better.
    var quiet: Logger {
        var quiet = self
        quiet.logLevel = max(self.logLevel, .warning)
        return quiet
    }
}

extension SocketAddress {
    /// `address:port`.
    var text: String {
        guard let address = self.ipAddress, let port = self.port else { return self.description }
        return address.contains(":") ? "[\(address)]:\(port)" : "\(address):\(port)"
    }
}
