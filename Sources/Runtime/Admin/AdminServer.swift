import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle

/// Serves a worker's `/healthz`, `/readyz` and `/metrics` on a port of its own.
struct AdminServer: Service {
    let host: String
    let port: Int
    let health: HealthReport
    let logger: Logger

    func run() async throws {
        let router = Router()
        router.get("healthz") { _, _ in Self.json(["status": "ok"], status: .ok) }
        router.get("readyz") { [health] _, _ in
            let report = await health.readiness()
            return Self.json(report.members, status: report.isReady ? .ok : .serviceUnavailable)
        }
        router.get("metrics") { [health] _, _ in
            Response(
                status: .ok,
                headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: health.metrics()))
            )
        }
        let logger = self.logger
        let app = Application(
            router: router,
            server: .http1(configuration: .init(idleTimeout: .seconds(30))),
            configuration: ApplicationConfiguration(address: .hostname(self.host, port: self.port)),
            onServerRunning: { channel in
                logger.info(
                    "Health and metrics are served",
                    metadata: ["http.address": "\(channel.localAddress?.description ?? "unknown")"]
                )
            },
            logger: Self.quiet(logger)
        )
        try await app.run()
    }

    /// Hummingbird tells of its own start; ours says it with the port.
    static func quiet(_ logger: Logger) -> Logger {
        var quiet = logger
        quiet.logLevel = max(logger.logLevel, .warning)
        return quiet
    }

    private static func json(_ members: [String: String], status: HTTPResponse.Status) -> Response {
        let body = members.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\"\($0.value)\"" }.joined(separator: ",")
        return Response(
            status: status,
            headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: "{\(body)}\n"))
        )
    }
}
