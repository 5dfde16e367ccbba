import Broker
import Logging
import Store

/// What a process says of itself.
struct HealthReport: Sendable {
    let store: any StoreHealth
    let broker: any MessageBroker
    let registry: PrometheusRegistry
    let logger: Logger

    /// Ready = the store can be read.
    ///
    /// A broker that is away delays work and refuses none: it is told and stays green (rule 19).
    func readiness() async -> (isReady: Bool, members: [String: String]) {
        var members: [String: String] = [:]
        var isReady = true
        do {
            try await self.store.check()
            members["store"] = "ok"
        } catch {
            self.logger.warning("The store cannot be read", metadata: ["error": "\(error)"])
            members["store"] = "unavailable"
            isReady = false
        }
        members["broker"] =
            switch await self.broker.status {
            case .connected: "connected"
            case .blocked: "blocked"
            case .disconnected: "disconnected"
            }
        members["status"] = isReady ? "ready" : "unavailable"
        return (isReady, members)
    }

    /// Prometheus text.
    func metrics() -> String { ProcessMetrics.exposition() + self.registry.exposition() }
}
