import HTTPTypes
package import Hummingbird
import Logging
import Metrics
import NIOConcurrencyHelpers
import NIOCore
import PushModel
import PushlineLogging
import PushlineMetrics
import Settings
import Store

/// Answers requests: finds the route, lets the caller in, reads the body within its limits, and words every refusal.
package struct APIResponder: HTTPResponder {
    package typealias Context = APIContext

    let table: RouteTable
    private let apps: AppDirectory
    private let authenticator: Authenticator
    private let limits: CallerLimits
    private let failures: FailureReport
    private let metrics = RequestMetrics()
    private let inFlight = MetricDescription.httpRequestsInFlight.meter()
    private let access: AccessLog
    private let proxies: TrustedProxies

    init(
        table: RouteTable,
        configuration: APIConfiguration,
        body: BodyReader,
        apps: AppDirectory,
        authenticator: Authenticator,
        logger: Logger
    ) {
        self.table = table
        self.apps = apps
        self.authenticator = authenticator
        self.limits = CallerLimits(configuration: configuration, body: body)
        self.failures = FailureReport(logger: logger)
        self.access = AccessLog(logger: logger, isOn: configuration.accessLog)
        self.proxies = configuration.settings.trustedProxies
    }

    /// Never throws: every failure is a problem response.
    package func respond(to request: Request, context: Context) async throws -> Response {
        let trace = RequestTrace(id: self.proxies.requestID(of: request, connection: context.connection) ?? context.id)
        return await LogContext.$current.withValue(LogContext(request: trace.id)) {
            await self.respond(to: request, context: context, trace: trace)
        }
    }

    private func respond(to request: Request, context: Context, trace: RequestTrace) async -> Response {
        let start = ContinuousClock.now
        self.inFlight.increment(by: 1)
        defer { self.inFlight.decrement(by: 1) }
        var response: Response
        var origin: String?
        do {
            origin = try await self.declaredOrigin(of: request)
            if origin != nil, let preflight = CrossOrigin.preflight(request) {
                response = preflight
            } else {
                try Expectation.check(request.headers)
                let match = try self.table.match(request.method, path: request.uri.path)
                trace.found(match)
                response =
                    match.route.access == .open
                    ? try await self.answerAnybody(request, match: match)
                    : try await self.answer(request, match: match, trace: trace, context: context)
            }
        } catch {
            var problem = self.failures.problem(of: error, route: trace.template)
            if problem.status == .unauthorized { Authenticator.spareDialog(request.headers, &problem) }
            response = problem.response()
        }
        if let origin { CrossOrigin.allow(origin, &response.headers) }
        if CrossOrigin.isDecided(on: request.uri.path) {
            response.headers.append(HTTPField(name: .vary, value: HTTPField.Name.origin.rawName))
            // A browser keeps what it got with a cookie for whoever uses it next; none of these answers is for later.
            if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "no-store" }
        }
        self.finish(&response, of: request, trace: trace, start: start)
        return response
    }

    /// The value of `Origin`, where the app declares it.
    ///
    /// - Throws: What keeps the declaration from being read: without it the request must not be executed, because its page could not
    ///   read the answer.
    private func declaredOrigin(of request: Request) async throws -> String? {
        guard let origin = request.headers.text(of: .origin), let app = CrossOrigin.app(of: request.uri.path),
            let spec = try await self.limits.arrive({ try await self.apps.spec(of: app) }),
            spec.api.origins.contains(where: { $0.text == origin })
        else { return nil }
        return origin
    }

    /// Answers on an open route, without authentication or limits: health checks must work under load too.
    private func answerAnybody(_ request: Request, match: RouteTable.Match) async throws -> Response {
        let asked = APIRequest(
            request,
            match: match,
            body: BodyReader.Body(),
            app: .default,
            spec: AppSpec(),
            identity: nil
        )
        return try await match.route.handler(asked)
    }

    /// Answers a caller, or a client, within its share of the limits.
    private func answer(
        _ request: Request,
        match: RouteTable.Match,
        trace: RequestTrace,
        context: Context
    ) async throws -> Response {
        let (app, spec, identity, client) = try await self.limits.arrive {
            try await self.admit(request, match: match, context: context)
        }
        trace.caller = identity
        if spec.azureHub != nil, let reason = match.route.embeddedOnly {
            throw Problem(.unprocessableContent, "the app's registrations are at its Azure hub: \(reason)", type: "hub")
        }
        let caller = identity ?? .unknown(at: client ?? .unspecified, app: app)
        return try await self.limits.work(
            request,
            body: match.route.body,
            caller: caller,
            spec: spec,
            connection: context.body
        ) { body in
            let asked = APIRequest(
                request,
                match: match,
                body: body,
                app: app,
                spec: spec,
                identity: identity,
                client: client
            )
            return try await match.route.handler(asked)
        }
    }

    /// Finds the app, and who asks: the caller, or where the route admits anybody the client.
    private func admit(
        _ request: Request,
        match: RouteTable.Match,
        context: Context
    ) async throws -> (app: AppID, spec: AppSpec, identity: Caller?, client: IPAddress?) {
        let (app, spec) = try await self.app(of: match)
        guard match.route.access == .caller else {
            return (app, spec, nil, self.authenticator.client(of: request.head, connection: context.connection))
        }
        let caller = try await self.authenticator.caller(request.head, app: app, spec: spec) { context.connection }
        return (app, spec, caller, nil)
    }

    private func app(of match: RouteTable.Match) async throws -> (AppID, AppSpec) {
        guard let app = try? match.parameters["app"].map(AppID.init) ?? .default,
            let spec = try await self.apps.spec(of: app)
        else { throw Problem.notFound("no such app") }
        return (app, spec)
    }

    /// Adds the headers of every answer and notes it.
    private func finish(
        _ response: inout Response,
        of request: Request,
        trace: RequestTrace,
        start: ContinuousClock.Instant
    ) {
        response.headers[.requestID] = trace.id
        response.headers[.contentTypeOptions] = "nosniff"
        if response.status == .noContent { response.headers[.contentLength] = nil }
        if request.method == .head {
            // Hummingbird would set the unknown length to 0.
            let length = response.headers[.contentLength]
            response = response.createHeadResponse()
            response.headers[.contentLength] = length
        }
        self.metrics.record(
            method: request.method,
            template: trace.series,
            status: response.status,
            elapsed: ContinuousClock.now - start
        )
        let caller = trace.caller
        self.access.note(
            request,
            route: trace.template,
            app: caller?.app,
            caller: caller?.logged,
            start: start,
            &response
        )
    }
}

/// The connection or stream of a request, and its data.
package struct APIContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// Names the request: a UUID, made as those of jobs are.
    ///
    /// Hummingbird's own stands in a logger that is made for each request, for the price of five allocations.
    package let id = JobID.make().description
    private let channel: any Channel

    package init(source: ApplicationRequestContextSource) {
        self.coreContext = CoreRequestContextStorage(source: source)
        self.channel = source.channel
    }

    /// The other end of the connection, also of a stream's; nil in tests without one.
    var connection: SocketAddress? { self.channel.remoteAddress }

    var body: BodyConnection {
        let channel = self.channel
        return BodyConnection(
            ask: { channel.triggerUserOutboundEvent(EarlyResponseHandler.BodyWanted(), promise: nil) },
            end: { channel.triggerUserOutboundEvent(EarlyResponseHandler.BodyOverdue(), promise: nil) }
        )
    }
}

/// The data of a request for its log entry and metrics.
final class RequestTrace: Sendable {
    private struct State {
        var template = "unknown"
        var isOpen = true
        var caller: Caller?
    }

    let id: String
    private let state = NIOLockedValueBox(State())

    init(id: String) { self.id = id }

    /// The matched route's template: raw paths never become dimensions of metrics.
    var template: String { self.state.withLockedValue { $0.template } }

    /// The route's label in metrics: an unauthenticated client must not create a time series for each route and method.
    var series: String {
        self.state.withLockedValue { $0.isOpen || $0.caller != nil ? $0.template : RequestMetrics.unauthenticated }
    }

    func found(_ match: RouteTable.Match) {
        self.state.withLockedValue { state in
            state.template = match.template
            state.isOpen = match.route.access != .caller
        }
    }

    var caller: Caller? {
        get { self.state.withLockedValue { $0.caller } }
        set { self.state.withLockedValue { $0.caller = newValue } }
    }
}

/// `http.server.request.duration` by method, route and status.
struct RequestMetrics: Sendable {
    private struct Key: Hashable {
        let method: String
        let template: String
        let status: Int
    }

    /// Made once each: looking one up by its labels' text costs as much as a small answer.
    private let timers = NIOLockedValueBox<[Key: Timer]>([:])

    /// The route of those who were not let in.
    static let unauthenticated = "unauthenticated"

    private static let methods: Set<HTTPRequest.Method> = [.get, .head, .post, .put, .delete, .patch, .options]

    /// A method is the client's text: only those that exist may make a time series, or stand in the log.
    static func name(of method: HTTPRequest.Method) -> String {
        Self.methods.contains(method) ? method.rawValue : "_OTHER"
    }

    func record(
        method: HTTPRequest.Method,
        template: String,
        status: HTTPResponse.Status,
        elapsed: Duration
    ) {
        let name = Self.name(of: method)
        let key = Key(method: name, template: template, status: status.code)
        let timer = self.timers.withLockedValue { timers in
            if let known = timers[key] { return known }
            let timer = MetricDescription.httpRequestDuration.timer([
                .httpMethod: name, .httpRoute: template, .httpStatus: String(status.code),
            ])
            timers[key] = timer
            return timer
        }
        timer.recordNanoseconds(Int64(elapsed.inSeconds * 1e9))
    }
}
