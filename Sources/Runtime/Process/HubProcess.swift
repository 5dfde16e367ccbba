import Broker
import HubServer
import Installation
import Intake
import Logging
import Pipeline
import ServiceLifecycle
import Settings
import Store
import WebServing

/// The hubs of all apps behind a server, on the wire of Azure Notification Hubs.
struct HubProcess {
    let configuration: PushlineConfiguration
    let parts: PushlineProcess.Parts

    /// - Returns: The services, dependencies first.
    /// - Throws: ``ConfigurationError`` if the certificate cannot be served.
    func services() throws -> [any Service] {
        let settings = self.configuration.hub
        let (broker, logger) = (self.parts.broker, self.parts.logger)
        let hubs = HubWireServer(
            configuration: HubConfiguration(
                ServingLimits(self.configuration),
                intake: IntakeLimits(self.configuration)
            ),
            registrations: EmbeddedRegistrations(store: self.parts.store),
            store: self.parts.store,
            broker: broker,
            traces: self.parts.traces,
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
            reporter: self.parts.reporter,
            onServing: self.parts.serving,
            logger: logger,
            refusal: HubFront.malformed
        )
        return hubs.services + (try server.services(hubs.responder))
    }
}
