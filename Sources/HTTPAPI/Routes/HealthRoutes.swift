import HTTPTypes
import Hummingbird
import NIOCore
import WebServing

/// How the process is, for machines, and the API's own description: open to anybody.
struct HealthRoutes: Sendable {
    let context: RouteContext

    var routes: [Route] {
        let health = ProcessHealth(
            version: self.context.configuration.version,
            store: self.context.store,
            broker: self.context.broker,
            countsWork: true,
            metricsText: self.context.metricsText
        )
        return [
            Route(.get, "/healthz", access: .open) { _ in health.health() },
            Route(.get, "/readyz", access: .open) { _ in await health.readiness() },
            Route(.get, "/metrics", access: .open) { _ in await health.metrics() },
            Route(.get, "/openapi.yaml", access: .open) { _ in Self.answer(Self.description) },
            Route(.get, "/openapi-clients.yaml", access: .open) { _ in Self.answer(try Self.forClients.get()) },
        ]
    }

    /// One for all who ask for it.
    private static let description = ByteBuffer(string: OpenAPIDocument.text)
    private static let forClients = ClientsDocument.text.map { ByteBuffer(string: $0) }

    private static func answer(_ document: ByteBuffer) -> Response {
        Response(
            status: .ok,
            headers: [.contentType: "application/yaml"],
            body: ResponseBody(byteBuffer: document)
        )
    }
}
