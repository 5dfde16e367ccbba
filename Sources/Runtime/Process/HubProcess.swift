import Broker
import HTTPAPI
import HubEmbedded
import HubServer
import Installation
import Logging
import ServiceLifecycle
import Settings
import Store

/// The hubs of all apps behind a server, on the wire of Azure Notification Hubs.
struct HubProcess {
    let configuration: PushlineConfiguration
    let parts: PushlineProcess.Parts

    /// - Returns: The services, dependencies first.
    /// - Throws: ``ConfigurationError`` if the certificate cannot be served.
    func services() throws -> [any Service] {
        let settings = self.configuration.hub
        let (broker, logger) = (self.parts.broker, self.parts.logger)
        let host = WireHost(
            configuration: APIConfiguration(self.configuration, host: settings.host),
            store: self.parts.store,
            broker: broker,
            logger: logger
        )
        let server = WebServer(
            configuration: self.configuration,
            section: "hub",
            host: settings.host,
            port: settings.port,
            certificateFile: settings.certificateFile,
            keyFile: settings.keyFile,
            message: "The hub is served",
            onServing: self.parts.manager.ready,
            logger: logger,
            refusal: HubResponder.malformed
        )
        let hub = EmbeddedHub(store: self.parts.store, intake: host, jobLifetime: host.jobLifetime)
        let responder = HubResponder(host: host, hub: hub, store: self.parts.store)
        return host.services + (try server.services(responder))
    }
}
