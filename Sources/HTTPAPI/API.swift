package import Broker
import Hummingbird
import Intake
package import Logging
package import PushModel
package import ServiceLifecycle
import Settings
package import Store
package import WebServing

/// The HTTP API: routes, authentication, limits and background services.
///
/// Runtime puts ``responder`` behind a Hummingbird application and ``services`` into the service group before it.
package struct API: Sendable {
    package let responder: WebResponder<APIFront>
    /// Run these as long as the server serves; they are to be shut down after it.
    package let services: [any Service]
    private let store: any ResultStore

    /// - Parameters:
    ///   - configuration: Limits and habits.
    ///   - store: The store of jobs and registrations.
    ///   - broker: The broker that jobs are published to.
    ///   - logger: The logger of requests and background services.
    ///   - metricsText: The answer of `/metrics`, in Prometheus' text format.
    package init(
        configuration: APIConfiguration,
        store: any ResultStore,
        broker: any MessageBroker,
        logger: Logger,
        metricsText: @escaping @Sendable () -> String
    ) {
        self.init(
            configuration: configuration,
            store: store,
            broker: broker,
            logger: logger,
            passwords: PasswordVerifier(mostWaiting: max(1, configuration.settings.inFlight / 4)),
            metricsText: metricsText
        )
    }

    init(
        configuration: APIConfiguration,
        store: any ResultStore,
        broker: any MessageBroker,
        logger: Logger,
        passwords: PasswordVerifier,
        metricsText: @escaping @Sendable () -> String
    ) {
        let intake = JobIntake(store: store, broker: broker, limits: configuration.intake, logger: logger)
        let large = LargeBodies(limits: configuration.serving)
        let directory = CallerDirectory(store: store, lifetime: configuration.directoryLifetime)
        let failures = SignInFailures(logger: logger)
        let sessions = Sessions(
            store: store,
            directory: directory,
            lifetime: configuration.settings.sessionLifetime,
            idle: configuration.settings.sessionIdle
        )
        let authenticator = Authenticator(
            directory: directory,
            passwords: passwords,
            tokens: TokenSignIn(
                directory: directory,
                failures: failures,
                mostWaiting: max(1, configuration.settings.inFlight / 8),
                logger: logger
            ),
            sessions: sessions,
            failures: failures,
            proxies: configuration.settings.trustedProxies,
            isLoopback: configuration.isLoopback
        )
        let apps = AppDirectory(store: store, lifetime: configuration.directoryLifetime)
        let monitor = JobMonitor(broker: broker) { try await store.jobs($0) }
        let watchers = JobWatchers(monitor: monitor, logger: logger) { JobEventRoute.event($0, prefix: $1) }
        let events = JobEventRoute(watchers: watchers, most: configuration.jobWatchers) { request, app in
            guard let spec = try await apps.spec(of: app) else { throw Problem.notFound("no such app") }
            return try await authenticator.caller(request, app: app, spec: spec) { nil }
        }
        let context = RouteContext(
            configuration: configuration,
            store: store,
            broker: broker,
            intake: intake,
            monitor: monitor,
            large: large,
            directory: directory,
            passwords: passwords,
            metricsText: metricsText,
            logger: logger
        )
        let front = APIFront(
            table: RouteTable(
                API.routes(context) + SessionRoutes(authenticator: authenticator).routes + events.routes
            ),
            limits: CallerLimits(limits: configuration.serving, large: large),
            apps: apps,
            authenticator: authenticator
        )
        self.responder = WebResponder(
            front,
            proxies: configuration.settings.trustedProxies,
            accessLog: configuration.serving.accessLog,
            logger: logger
        )
        self.services = intake.services + [watchers]
        self.store = store
    }

    /// The apps with the demonstration scheme, which must not be served beyond a loopback address.
    package func appsInDemonstration() async throws -> [AppID] {
        try await self.store.apps().filter { $0.value.authentication == .demonstration }.keys.sorted()
    }

    /// Every route of ours, the classic ones first.
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
            + (context.configuration.settings.page ? PageRoutes().routes : [])
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
        self.large = large
        self.directory = directory
        self.passwords = passwords
        self.metricsText = metricsText
        self.logger = logger
    }
}
