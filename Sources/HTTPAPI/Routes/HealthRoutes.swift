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
            Route(.get, "/openapi.yaml", access: .open, handler: self.document),
        ]
    }

    /// One for all who ask for it.
    private static let description = ByteBuffer(string: OpenAPIDocument.text)

    private func document(_ request: APIRequest) -> Response {
        Response(
            status: .ok,
            headers: [.contentType: "application/yaml"],
            body: ResponseBody(byteBuffer: Self.description)
        )
    }
}
