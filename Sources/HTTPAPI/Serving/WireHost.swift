package import Broker
package import HTTPTypes
package import Hummingbird
package import Logging
package import PushModel
package import ServiceLifecycle
import Settings
package import Store

/// What the API shares with another wire to the same apps: the limits of callers, bodies, jobs, errors and metrics.
package struct WireHost: JobTaker {
    /// Run these as long as the server serves; they are to be shut down after it.
    package let services: [any Service]
    private let configuration: APIConfiguration
    private let limits: CallerLimits
    private let intake: JobIntake
    private let failures: FailureReport
    /// Searches of audiences under way: each keeps a connection for reading busy, as a count does.
    private let searches = FairPermits(AudienceCounts.maximumUnderWay)
    private let metrics = RequestMetrics()
    private let access: AccessLog

    /// - Parameters:
    ///   - configuration: Limits and habits.
    ///   - store: The store of jobs and registrations.
    ///   - broker: The broker that jobs are published to.
    ///   - logger: The logger of failures and background services.
    package init(
        configuration: APIConfiguration,
        store: any ResultStore,
        broker: any MessageBroker,
        logger: Logger
    ) {
        let publisher = JobPublisher(
            store: store,
            broker: broker,
            deadline: configuration.publishTime,
            logger: logger
        )
        let waiter = OutcomeWaiter(broker: broker, logger: logger) { try await store.jobs($0) }
        self.configuration = configuration
        self.limits = CallerLimits(
            configuration: configuration,
            body: BodyReader(configuration: configuration, large: LargeBodies(configuration: configuration))
        )
        self.intake = JobIntake(
            store: store,
            publisher: publisher,
            waiter: waiter,
            drainWait: configuration.drainWait
        )
        self.failures = FailureReport(logger: logger)
        self.access = AccessLog(logger: logger, isOn: configuration.accessLog)
        self.services = [publisher, waiter]
    }

    /// Who calls: the backend of an app, by the name that its jobs show.
    package struct Caller: Sendable, Hashable {
        package let app: AppID
        package let name: String

        package init(app: AppID, name: String) {
            self.app = app
            self.name = name
        }

        fileprivate var identified: HTTPAPI.Caller {
            HTTPAPI.Caller(app: self.app, identity: .key(self.name), role: .operator)
        }
    }

    /// A refusal for the wire to put into its own words.
    package struct Refusal: Error, Sendable, Equatable {
        package let status: HTTPResponse.Status
        /// What is wrong, with the member where one is.
        package let detail: String
        /// After how many seconds to try again.
        package var retryAfter: Int?
        /// The codings of bodies that are taken, where the refusal is of another.
        package var acceptEncoding: String?

        package init(_ status: HTTPResponse.Status, _ detail: String, retryAfter: Int? = nil) {
            self.status = status
            self.detail = detail
            self.retryAfter = retryAfter
        }
    }

    /// Does what precedes authentication and is part of it, within a limit of its own.
    package func arrive<Value>(_ work: () async throws -> Value) async throws -> Value {
        try await self.limits.arrive(work)
    }

    /// Reads a caller's body and works on the request, within the caller's share of the limits.
    ///
    /// What the work commits must begin in time (`CommitDeadline`), or it is refused and nothing is done: a client that has given up
    /// sends again.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - context: Its connection.
    ///   - caller: The caller.
    ///   - spec: The caller's app.
    ///   - most: The most bytes that the body may have, inflated.
    ///   - work: The work, with the body.
    /// - Returns: What the work returns.
    /// - Throws: What ``refusal(of:route:)`` has words for.
    package func work<Value: Sendable>(
        _ request: Request,
        context: APIContext,
        caller: Caller,
        spec: AppSpec,
        most: Int,
        _ work: @Sendable ([UInt8]) async throws -> Value
    ) async throws -> Value {
        try await self.limits.work(
            request,
            body: .upTo(most),
            caller: caller.identified,
            spec: spec,
            connection: context.body
        ) { body in
            // From when it has come: a slow network is not a reason.
            try await CommitDeadline.$current.withValue(CommitDeadline(self.configuration.commitWait)) {
                try await work(body.bytes)
            }
        }
    }

    /// Searches an audience, of which few are searched at once.
    ///
    /// - Throws: What ``refusal(of:route:)`` has words for: 503 while others search.
    package func search<Value>(for caller: Caller, _ work: () async throws -> Value) async throws -> Value {
        let caller = caller.identified
        guard self.searches.take(for: caller) else {
            throw Problem.later(.serviceUnavailable, "too many audiences are being searched at once", seconds: 1)
        }
        defer { self.searches.release(of: caller) }
        return try await work()
    }

    /// Accepts a job, and waits for its outcome.
    ///
    /// - Parameters:
    ///   - job: The job.
    ///   - wait: The longest wait; zero = none.
    /// - Returns: The job, or that of the request which this one repeats.
    /// - Throws: What ``refusal(of:route:)`` has words for.
    package func take(_ job: NewJob, wait: Duration) async throws -> Job {
        try await self.intake.take(job, JobWait(for: .outcome, time: wait)).job
    }

    /// Accepts a job; see ``take(_:wait:)``.
    package func take(_ job: NewJob) async throws -> JobID { try await self.take(job, wait: .zero).id }

    /// Accepts jobs together; see `JobTaker`.
    package func take(_ jobs: [NewJob]) async throws -> [JobID?] { try await self.intake.take(jobs) }

    /// Waits for the end of a job.
    ///
    /// - Returns: The job as it is when it ends, or at the deadline; nil = the app has no job of that id.
    package func end(of id: JobID, app: AppID, until deadline: ContinuousClock.Instant) async throws -> Job? {
        let wait = JobWait(for: .outcome, time: ContinuousClock.now.duration(to: deadline))
        return try await self.intake.find(id, app: app, wait)?.job
    }

    /// How long a change of a registration is waited for.
    package var registerWait: Duration { self.configuration.settings.classicWait }

    /// The lifetime of a job.
    package var jobLifetime: Duration { self.configuration.jobLifetime }

    /// For how long a change of an app or a rule may go unseen.
    package var directoryLifetime: Duration { self.configuration.directoryLifetime }

    /// The refusal for an error, of which the operator is told where it is the server's own.
    package func refusal(of error: any Error, route: String) -> Refusal {
        if let refusal = error as? Refusal { return refusal }
        let problem = self.failures.problem(of: error, route: route)
        let seconds = problem.headers.text(of: .retryAfter).flatMap { Int($0) }
        let details =
            problem.errors.count > 1 ? problem.errors.map(\.description).joined(separator: "; ") : problem.detail
        var refusal = Refusal(problem.status, details, retryAfter: seconds)
        refusal.acceptEncoding = problem.headers.text(of: .acceptEncoding)
        return refusal
    }

    /// Tells the operator of something in a send that does not go out.
    package func warn(_ words: String, app: AppID, caller: String) {
        self.failures.warn(words, app: app, caller: caller)
    }

    /// Notes a request in `http.server.request.duration`, and in the log.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - template: The template of its route.
    ///   - caller: Who was let in; nil = nobody, and the request has no time series of its own.
    ///   - trackingID: The client's own id for it; nil = it gave none.
    ///   - start: When it came.
    ///   - response: The answer.
    package func record(
        _ request: Request,
        template: String,
        caller: Caller?,
        trackingID: String?,
        start: ContinuousClock.Instant,
        _ response: inout Response
    ) {
        self.metrics.record(
            method: request.method,
            template: caller == nil ? RequestMetrics.unauthenticated : template,
            status: response.status,
            elapsed: ContinuousClock.now - start
        )
        self.access.note(
            request,
            route: template,
            app: caller?.app,
            caller: caller?.name,
            trackingID: trackingID,
            start: start,
            &response
        )
    }
}
