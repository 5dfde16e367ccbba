import Hummingbird
import Logging
import NIOEmbedded
import PushModel
import Testing

@testable import WebServing

@Suite struct WebExchangeTests {
    private static func exchange() -> WebExchange {
        let source = ApplicationRequestContextSource(channel: EmbeddedChannel(), logger: Logger(label: "test"))
        return WebExchange(id: "1", context: ServingContext(source: source))
    }

    /// Whoever is a stranger makes one time series, whichever routes exist.
    @Test func unauthenticatedRequestsShareOneMetricSeries() {
        let exchange = Self.exchange()
        #expect(exchange.series == "unknown")
        exchange.found("/api/jobs/{id}", isOpen: false)
        #expect(exchange.template == "/api/jobs/{id}")
        #expect(exchange.series == "unauthenticated")
        exchange.admitted("account:user", of: .default)
        #expect(exchange.series == "/api/jobs/{id}")
        let open = Self.exchange()
        open.found("/healthz", isOpen: true)
        #expect(open.series == "/healthz")
    }
}
