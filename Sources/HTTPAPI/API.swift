import Authentication
package import Broker
import Hummingbird
import Intake
package import Logging
package import PushModel
package import PushlineTracing
package import ServiceLifecycle
import Settings
package import Store
package import WebServing

/// The HTTP API: routes, authentication, limits and background services.
///
/// Runtime puts ``responder`` behind a Hummingbird application, ``console`` behind another, and ``services`` into the service group before them.
package struct API: Sendable {
    package let responder: WebResponder<APIFront>
    /// The same routes for the console, with its pages and its sessions; on a port of its own.
    package let console: WebResponder<APIFront>
    /// Run these as long as the server serves; they are to be shut down after it.
    package let services: [any Service]
    private let store: any ResultStore

    /// - Parameters:
    ///   - configuration: Limits and habits.
    ///   - store: The store of jobs and registrations.
    ///   - broker: The broker that jobs are published to.
    ///   - traces: Begins the spans of requests and of their messages.
    ///   - logger: The logger of requests and background services.
    ///   - metricsText: The answer of `/metrics`, in Prometheus' text format.
    package init(
        configuration: APIConfiguration,
        store: any ResultStore,
        broker: any MessageBroker,
        traces: Traces,
        logger: Logger,
        metricsText: @escaping @Sendable () -> String
    ) {
        self.init(
            configuration: configuration,
            store: store,
            broker: broker,
            traces: traces,
            logger: logger,
            passwords: PasswordVerifier(mostWaiting: max(1, configuration.settings.inFlight / 4)),
            metricsText: metricsText
        )
    }

    init(
        configuration: APIConfiguration,
        store: any ResultStore,
        broker: any MessageBroker,
        traces: Traces = .off,
        logger: Logger,
        passwords: PasswordVerifier,
        metricsText: @escaping @Sendable () -> String
    ) {
        let intake = JobIntake(
            store: store,
            broker: broker,
            limits: configuration.intake,
            traces: traces,
            logger: logger
        )
        let large = LargeBodies(limits: configuration.serving)
        let directory = CallerDirectory(store: store, lifetime: configuration.directoryLifetime)
        let failures = SignInFailures(logger: logger)
        let tokens = TokenSignIn(
            directory: directory,
            failures: failures,
            mostWaiting: max(1, configuration.settings.inFlight / 8),
            logger: logger
        )
        let processes = ProcessWatch(own: configuration.processID, broker: broker, logger: logger)
        let monitor = JobMonitor(broker: broker) { try await store.jobs($0) }
        let context = RouteContext(
            configuration: configuration,
            store: store,
            broker: broker,
            intake: intake,
            monitor: monitor,
            processes: processes,
            large: large,
            directory: directory,
            passwords: passwords,
            metricsText: metricsText,
            logger: logger
        )
        let watchers = JobWatchers(monitor: monitor, logger: logger) { JobEventRoute.event($0, prefix: $1) }
        let fronts = APIFronts(
            context: context,
            apps: AppDirectory(store: store, lifetime: configuration.directoryLifetime),
            tokens: tokens,
            failures: failures,
            watchers: watchers,
            limits: CallerLimits(limits: configuration.serving, large: large),
            traces: traces
        )
        (self.responder, self.console) = (fronts.responder(.page), fronts.responder(.console))
        self.services = intake.services + [watchers, processes]
        self.store = store
    }

    /// The apps with the demonstration scheme, which must not be served beyond a loopback address.
    package func appsInDemonstration() async throws -> [AppID] {
        try await self.store.apps().filter { $0.value.authentication == .demonstration }.keys.sorted()
    }

    /// Every route of ours but sessions, events and pages, the classic ones first.
    static func routes(_ context: RouteContext) -> [Route] {
        ClassicRegistrationRoutes(context: context).routes
            + ClassicNotificationRoutes(context: context).routes
            + SendRoutes(context: context).routes
            + SendLinesRoute(context: context).routes
            + JobRoutes(context: context).routes
            + JobDetailRoutes(context: context).routes
            + JobBulkRoutes(context: context).routes
            + BulkRoutes(context: context).routes
            + RegistrationRoutes(context: context).routes
            + RegistrationFindRoutes(context: context).routes
            + ChannelRoutes(context: context).routes
            + ContentRoutes(context: context).routes
            + AccountRoutes(context: context).routes
            + KeyRoutes(context: context).routes
            + UserRoutes(context: context).routes
            + DeadLetterRoutes(context: context).routes
            + DeadLetterBulkRoutes(context: context).routes
            + QueueRoutes(context: context).routes
            + ActRoutes(context: context).routes
            + AppRoutes().routes
            + OverviewRoutes(context: context).routes
            + HealthRoutes(context: context).routes
    }
}

/// State shared by all routes.
///
/// A reference, because a copy would cost each request a dozen reference counts.
final class RouteContext: Sendable {
    let configuration: APIConfiguration
    let store: any ResultStore
    let broker: any MessageBroker
    let intake: JobIntake
    let monitor: JobMonitor
    let processes: ProcessWatch
    let large: LargeBodies
    /// Accounts as they sign in: changes of an account must be told to it.
    let directory: CallerDirectory
    let passwords: PasswordVerifier
    let metricsText: @Sendable () -> String
    /// Logs operators' changes.
    let logger: Logger

    init(
        configuration: APIConfiguration,
        store: any ResultStore,
        broker: any MessageBroker,
        intake: JobIntake,
        monitor: JobMonitor,
        processes: ProcessWatch,
        large: LargeBodies,
        directory: CallerDirectory,
        passwords: PasswordVerifier,
        metricsText: @escaping @Sendable () -> String,
        logger: Logger
    ) {
        self.configuration = configuration
        self.store = store
        self.broker = broker
        self.intake = intake
        self.monitor = monitor
        self.processes = processes
        self.large = large
        self.directory = directory
        self.passwords = passwords
        self.metricsText = metricsText
        self.logger = logger
    }
}
