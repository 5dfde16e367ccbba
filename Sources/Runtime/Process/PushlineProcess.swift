import Broker
import Hub
import HubAzure
import Installation
import Logging
import Pipeline
import PushModel
import PushServices
import PushlineTracing
import ServiceLifecycle
import Settings
import Store
import UnixSignals
import WebServing

/// One server process: its parts, and their life together.
struct PushlineProcess {
    let role: ProcessRole
    let configuration: PushlineConfiguration

    /// The common parts of every process.
    struct Parts {
        let store: any ResultStore & Service
        let broker: any MessageBroker & Service
        let hubs: AppHubs
        let azureHubs: AzureHubs
        let fanOut: any SendFanOut
        let apps: AppDirectory
        let metricsText: @Sendable () -> String
        let traces: Traces
        let manager: ServiceManager
        let reporter: ProcessReporter
        let logger: Logger

        /// It answers at this port.
        @Sendable func serving(_ port: Int?) {
            self.reporter.tell { $0.port = port }
            self.manager.ready()
        }
    }

    /// Runs until SIGTERM or SIGINT, then drains.
    ///
    /// - Throws: ``ConfigurationError`` if it cannot start, or the error that ended it.
    func run() async throws {
        let (logger, registry) = Bootstrap.start(role: self.role, configuration: self.configuration)
        let unknown = PushlineConfiguration.unknownVariables()
        if !unknown.isEmpty {
            logger.warning(
                "Unknown environment variables with our prefix are ignored",
                metadata: ["variables": "\(unknown.joined(separator: ", "))"]
            )
        }
        let configured = Composition.store(self.configuration)
        let store = try await configured.open(logger: logger)
        let broker = try Composition.makeBroker(self.configuration, name: self.role.rawValue, logger: logger)
        let azureHubs = AzureHubs(logger: logger)
        let tracing = ProcessTraces(self.configuration.traces, role: self.role, logger: logger)
        let parts = Parts(
            store: store,
            broker: broker,
            hubs: AppHubs(embedded: EmbeddedRegistrations(store: store), wire: azureHubs),
            azureHubs: azureHubs,
            fanOut: EmbeddedFanOut(store: store, broker: broker, traces: tracing.traces, logger: logger),
            apps: AppDirectory(store: store),
            metricsText: { [role] in ProcessMetrics.exposition(role: role) + registry.exposition() },
            traces: tracing.traces,
            manager: ServiceManager(),
            reporter: ProcessReporter(role: self.role, broker: broker),
            logger: logger
        )
        // Ended in the opposite order: first the consumers of work, last the services they need to finish.
        let services =
            tracing.services
            + [parts.manager, store, broker, azureHubs, TopologyKeeper(broker: broker, logger: logger), parts.reporter]
            + (try await self.work(parts))
            + [GraceLimit(grace: self.configuration.process.drainTime, logger: logger)]
        var group = ServiceGroupConfiguration(
            services: services.map {
                ServiceGroupConfiguration.ServiceConfiguration(
                    service: $0,
                    successTerminationBehavior: .gracefullyShutdownGroup,
                    failureTerminationBehavior: .gracefullyShutdownGroup
                )
            },
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        group.maximumGracefulShutdownDuration = self.configuration.process.drainTime
        var metadata = configured.metadata
        metadata["version"] = "\(pushlineVersion)"
        metadata["broker.address"] = "\(self.configuration.broker)"
        logger.info("Starting", metadata: metadata)
        try await ServiceGroup(configuration: group).run()
        logger.info("Ended")
    }

    /// The services of the process's role.
    private func work(_ parts: Parts) async throws -> [any Service] {
        switch self.role {
        case .api:
            [FanOutRunner(fanOut: parts.fanOut), self.sweeper(parts)]
                + (try await APIServer(configuration: self.configuration, parts: parts).services())
        case .hub: try HubProcess(configuration: self.configuration, parts: parts).services()
        case .registerWorker:
            self.registration(parts, channels: APNsChannelClients(logger: parts.logger))
        case .sendWorker:
            self.fanOut(parts)
        case .deliveryWorker:
            self.delivery(parts)
        }
    }

    private func registration(_ parts: Parts, channels: APNsChannelClients) -> [any Service] {
        let worker = RegisterWorker(
            hubs: parts.hubs,
            channels: channels,
            store: parts.store,
            apps: parts.apps,
            broker: parts.broker,
            traces: parts.traces,
            logger: parts.logger
        )
        parts.reporter.tell { sources in
            sources.work = { worker.inHand.counts }
            sources.breakers = { worker.openBreakers }
            sources.refusals = { worker.refusedCredentials }
        }
        return [
            self.admin(parts, port: self.configuration.workers.registerPort, key: "register_port"), channels, worker,
        ]
    }

    private func fanOut(_ parts: Parts) -> [any Service] {
        let worker = SendWorker(
            fanOut: parts.fanOut,
            store: parts.store,
            apps: parts.apps,
            broker: parts.broker,
            traces: parts.traces,
            logger: parts.logger
        )
        parts.reporter.tell { $0.work = { worker.inHand.counts } }
        return [
            self.admin(parts, port: self.configuration.workers.sendPort, key: "send_port"),
            FanOutRunner(fanOut: parts.fanOut),
            self.sweeper(parts),
            DeadLetterConsumer(store: parts.store, broker: parts.broker, logger: parts.logger),
            ParkingWatch(broker: parts.broker, logger: parts.logger),
            worker,
        ]
    }

    private func delivery(_ parts: Parts) -> [any Service] {
        var settings = SenderSettings()
        settings.connections = self.configuration.delivery.connections
        let senders = SenderRegistry(settings: settings, logger: parts.logger)
        var configuration = DeliveryWorker.Configuration()
        configuration.devices = self.configuration.delivery.devices
        let worker = DeliveryWorker(
            senders: senders,
            hubs: HubCallers(hubs: parts.azureHubs, store: parts.store, apps: parts.apps, logger: parts.logger),
            store: parts.store,
            apps: parts.apps,
            broker: parts.broker,
            configuration: configuration,
            traces: parts.traces,
            logger: parts.logger
        )
        parts.reporter.tell { sources in
            sources.work = { worker.inHand.counts }
            sources.breakers = { worker.openBreakers }
            sources.refusals = { worker.refusedCredentials }
            sources.endings.append { senders.nearEnds }
        }
        return [
            self.admin(parts, port: self.configuration.workers.deliveryPort, key: "delivery_port"), senders, worker,
        ]
    }

    private func sweeper(_ parts: Parts) -> Sweeper {
        var configuration = Sweeper.Configuration()
        configuration.retention = self.configuration.retention.ages
        return Sweeper(
            fanOut: parts.fanOut,
            store: parts.store,
            apps: parts.apps,
            broker: parts.broker,
            configuration: configuration,
            logger: parts.logger
        )
    }

    private func admin(_ parts: Parts, port: Int, key: String) -> AdminServer {
        AdminServer(
            host: self.configuration.workers.host,
            port: port,
            keys: "workers.host, workers.\(key)",
            health: ProcessHealth(
                version: pushlineVersion,
                store: parts.store,
                broker: parts.broker,
                metricsText: parts.metricsText
            ),
            reporter: parts.reporter,
            onServing: parts.manager.ready,
            logger: parts.logger
        )
    }
}
