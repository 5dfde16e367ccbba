import Broker
import HTTPAPI
import Installation
import Intake
import Logging
import PushModel
import ServiceLifecycle
import Settings
import Store
import WebServing

/// The API behind a server.
struct APIServer {
    let configuration: PushlineConfiguration
    let parts: PushlineProcess.Parts

    /// - Returns: The services, dependencies first.
    /// - Throws: ``ConfigurationError`` if the API cannot or must not be served.
    func services() async throws -> [any Service] {
        let settings = self.configuration.api
        let (broker, logger) = (self.parts.broker, self.parts.logger)
        var limits = APIConfiguration(
            ServingLimits(self.configuration),
            intake: IntakeLimits(self.configuration)
        )
        limits.isLoopback = IPAddress.isLoopback(host: settings.host)
        limits.version = pushlineVersion
        limits.processID = self.parts.reporter.id
        let api = API(
            configuration: limits,
            store: self.parts.store,
            broker: broker,
            traces: self.parts.traces,
            logger: logger,
            metricsText: self.parts.metricsText
        )
        if try await self.parts.store.apps().isEmpty {
            let store = Composition.store(self.configuration).metadata
            logger.warning("The store has no apps: pushline apps apply FILE", metadata: store)
        }
        if !limits.isLoopback {
            let apps = try await api.appsInDemonstration()
            guard apps.isEmpty else {
                throw ConfigurationError(
                    "api.host: \(settings.host) is not a loopback address, and the demonstration scheme of "
                        + "app \(apps.map(\.name).joined(separator: ", ")) lets anybody in: serve on 127.0.0.1, or "
                        + "declare authentication: accounts"
                )
            }
        }
        let server = WebServer(
            configuration: self.configuration,
            section: "api",
            host: settings.host,
            port: settings.port,
            certificateFile: settings.certificateFile,
            keyFile: settings.keyFile,
            message: "The API is served",
            reporter: self.parts.reporter,
            onServing: self.parts.serving,
            logger: logger
        )
        return api.services + (try server.services(api.responder)) + (try self.console(api))
    }

    /// The console's server, where there is one.
    private func console(_ api: API) throws -> [any Service] {
        let settings = self.configuration.api
        guard settings.consolePort != 0 else { return [] }
        guard settings.certificateFile != nil || IPAddress.isLoopback(host: settings.consoleHost) else {
            throw ConfigurationError(
                "api.console_host: \(settings.consoleHost) is not a loopback address, and an operator's session is not for "
                    + "plain HTTP: give api.certificate_file and api.key_file, or serve the console on 127.0.0.1"
            )
        }
        let server = WebServer(
            configuration: self.configuration,
            section: "api",
            prefix: "console_",
            host: settings.consoleHost,
            port: settings.consolePort,
            certificateFile: settings.certificateFile,
            keyFile: settings.keyFile,
            message: "The console is served",
            reporter: self.parts.reporter,
            onServing: { _ in },
            logger: self.parts.logger
        )
        return try server.services(api.console)
    }
}
