package import Broker
package import Hub
import Intake
package import Logging
import PushModel
package import PushlineTracing
package import ServiceLifecycle
package import Store
package import WebServing

/// The hubs of all apps on the wire of Azure Notification Hubs.
///
/// Runtime puts ``responder`` behind a server and ``services`` into the service group before it.
package struct HubWireServer: Sendable {
    package let responder: WebResponder<HubFront>
    /// Run these as long as the server serves; they are to be shut down after it.
    package let services: [any Service]

    /// - Parameters:
    ///   - configuration: Limits and habits.
    ///   - registrations: Changes the registrations of the embedded hub.
    ///   - store: The store of apps, rules, jobs and registrations.
    ///   - broker: The broker that jobs are published to.
    ///   - traces: Begins the spans of requests and of their messages.
    ///   - logger: The logger of requests and background services.
    package init(
        configuration: HubConfiguration,
        registrations: any HubRegistrations,
        store: any ResultStore,
        broker: any MessageBroker,
        traces: Traces,
        logger: Logger
    ) {
        let intake = JobIntake(
            store: store,
            broker: broker,
            limits: configuration.intake,
            traces: traces,
            logger: logger
        )
        let hub = EmbeddedHub(store: store, intake: intake, registrations: registrations)
        self.init(configuration: configuration, intake: intake, hub: hub, store: store, traces: traces, logger: logger)
    }

    init(
        configuration: HubConfiguration,
        intake: JobIntake,
        hub: any ServedHub,
        store: any ResultStore,
        traces: Traces = .off,
        logger: Logger
    ) {
        self.services = intake.services
        self.responder = WebResponder(
            HubFront(configuration: configuration, intake: intake, hub: hub, store: store, logger: logger),
            // Clients of the wire have an id of their own.
            proxies: .none,
            accessLog: configuration.serving.accessLog,
            traces: traces,
            logger: logger
        )
    }
}
