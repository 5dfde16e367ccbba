import HTTPTypes
package import Hummingbird
import Logging
import Metrics
import NIOConcurrencyHelpers
import NIOCore
import PushModel
import Store

/// Answers requests: finds the route, lets the caller in, reads the body within its limits, and words every refusal.
package struct APIResponder: HTTPResponder {
    package typealias Context = APIContext

    let table: RouteTable
    private let configuration: APIConfiguration
    private let apps: AppDirectory
    private let authenticator: Authenticator
    private let body: BodyReader
    private let limiter = RateLimiter()
    private let inFlight = NIOLockedValueBox(0)
    private let warned = NIOLockedValueBox<ContinuousClock.Instant?>(nil)
    private let metrics = RequestMetrics()
    private let logger: Logger

    init(
        table: RouteTable,
        configuration: APIConfiguration,
        apps: AppDirectory,
        authenticator: Authenticator,
        logger: Logger
    ) {
        self.table = table
        self.configuration = configuration
        self.apps = apps
        self.authenticator = authenticator
        self.body = BodyReader(configuration: configuration)
        self.logger = logger
    }

    /// Never throws: what goes wrong is a problem response.
    package func respond(to request: Request, context: Context) async throws -> Response {
        let start = ContinuousClock.now
        let trace = RequestTrace(id: context.id)
        var response: Response
        do {
            let match = try self.table.match(request.method, path: request.uri.path)
            trace.template = match.template
            // Whoever asks for the process's health wants to know it under load too.
            response =
                match.route.access == .open
                ? try await self.answer(request, match: match, trace: trace, context: context)
                : try await self.admit { try await self.answer(request, match: match, trace: trace, context: context) }
        } catch {
            response = self.problem(of: error, trace: trace).response()
        }
        self.finish(&response, of: request, trace: trace, start: start)
        return response
    }

    /// Counts requests under way, and turns away what is too much.
    private func admit(_ body: () async throws -> Response) async throws -> Response {
        let most = self.configuration.requestsInFlight
        let isFree = self.inFlight.withLockedValue { count in
            guard count < most else { return false }
            count += 1
            return true
        }
        guard isFree else { throw Problem.later(.serviceUnavailable, "too many requests are under way", seconds: 1) }
        defer { self.inFlight.withLockedValue { $0 -= 1 } }
        return try await body()
    }

    private func answer(
        _ request: Request,
        match: RouteTable.Match,
        trace: RequestTrace,
        context: Context
    ) async throws -> Response {
        let (app, spec) = try await self.app(of: match)
        var caller: Caller?
        if match.route.access == .caller {
            let found = try await self.authenticator.caller(headers: request.headers, app: app, spec: spec) {
                context.connection
            }
            caller = found
            trace.caller = found
            let rate = spec.requestsPerSecond ?? self.configuration.requestsPerSecond
            if let seconds = self.limiter.take(found, rate: rate) {
                throw Problem.later(
                    .tooManyRequests,
                    "more requests a second than this account may make",
                    seconds: seconds
                )
            }
        }
        let body = try await self.body.read(request, kind: match.route.body, end: context.endBody)
        defer { withExtendedLifetime(body.place) {} }
        let parsed = APIRequest(
            head: request.head,
            path: request.uri.path,
            rawQuery: request.uri.query ?? "",
            template: match.template,
            parameters: match.parameters,
            query: QueryParameters(request.uri.query),
            body: body.bytes,
            isLarge: body.place != nil,
            stream: request.body,
            app: app,
            spec: spec,
            identity: caller
        )
        return try await match.route.handler(parsed)
    }

    private func app(of match: RouteTable.Match) async throws -> (AppID, AppSpec) {
        guard match.route.access == .caller else { return (.default, AppSpec()) }
        guard let app = try? match.parameters["app"].map(AppID.init) ?? .default,
            let spec = try await self.apps.spec(of: app)
        else { throw Problem.notFound("no such app") }
        return (app, spec)
    }

    private func problem(of error: any Error, trace: RequestTrace) -> Problem {
        switch error {
        case let problem as Problem:
            return problem
        case let invalid as InvalidValue:
            return Problem.invalid([invalid])
        case let partly as PartlyDone:
            var problem = self.problem(of: partly.cause, trace: trace)
            problem.done = partly.done
            return problem
        case let fault as StoreError:
            let problem = Problem(fault)
            // A name that is taken or a made-up cursor is the caller's affair, not the operator's; and a store that takes nothing
            // fails them all.
            self.logger.log(
                level: problem.status.kind == .serverError && self.mayWarn() ? .warning : .debug,
                "The store failed a request",
                metadata: ["request.id": "\(trace.id)", "error": "\(fault)"]
            )
            return problem
        case is CancellationError:
            return Problem.later(.serviceUnavailable, "the server is going down", seconds: 1)
        default:
            self.logger.error(
                "A request failed",
                metadata: [
                    "request.id": "\(trace.id)", "http.route": "\(trace.template)",
                    "error.type": "\(type(of: error))",
                ]
            )
            return Problem(.internalServerError, "an internal error; the log knows more")
        }
    }

    /// Once in five seconds.
    private func mayWarn() -> Bool {
        self.warned.withLockedValue { warned in
            if let last = warned, last.duration(to: .now) < .seconds(5) { return false }
            warned = .now
            return true
        }
    }

    /// What every answer has; the log never has a query, for that may hold a device's handle.
    private func finish(
        _ response: inout Response,
        of request: Request,
        trace: RequestTrace,
        start: ContinuousClock.Instant
    ) {
        response.headers[.requestID] = trace.id
        response.headers[.contentTypeOptions] = "nosniff"
        if response.status == .noContent { response.headers[.contentLength] = nil }
        if request.method == .head { response = response.createHeadResponse() }
        let elapsed = ContinuousClock.now - start
        self.metrics.record(method: request.method, template: trace.template, status: response.status, elapsed: elapsed)
        // Not even put together where nobody reads it.
        guard self.logger.logLevel <= .debug else { return }
        var metadata: Logger.Metadata = [
            "request.id": "\(trace.id)", "http.method": "\(request.method)", "http.route": "\(trace.template)",
            "http.status": "\(response.status.code)", "seconds": "\(elapsed.inSeconds)",
        ]
        if let caller = trace.caller { metadata["caller"] = "\(caller.app)/\(caller.description)" }
        self.logger.debug("Request", metadata: metadata)
    }
}

/// What a request comes with, and the connection or stream it came on.
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

    /// Has the request's body end with an error, where it has not come to its end.
    var endBody: @Sendable () -> Void {
        let channel = self.channel
        return { channel.triggerUserOutboundEvent(LastAnswers.BodyOverdue(), promise: nil) }
    }
}

/// What is known of a request while it is answered.
final class RequestTrace: Sendable {
    private struct State {
        var template = "unknown"
        var caller: Caller?
    }

    let id: String
    private let state = NIOLockedValueBox(State())

    init(id: String) { self.id = id }

    /// The matched route's template: raw paths never become dimensions of metrics.
    var template: String {
        get { self.state.withLockedValue { $0.template } }
        set { self.state.withLockedValue { $0.template = newValue } }
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

    private static let methods: Set<HTTPRequest.Method> = [.get, .head, .post, .put, .delete, .patch, .options]

    func record(
        method: HTTPRequest.Method,
        template: String,
        status: HTTPResponse.Status,
        elapsed: Duration
    ) {
        // A method is the client's text: only those that exist may make a time series.
        let name = Self.methods.contains(method) ? method.rawValue : "_OTHER"
        let key = Key(method: name, template: template, status: status.code)
        let timer = self.timers.withLockedValue { timers in
            if let known = timers[key] { return known }
            let timer = Timer(
                label: "http.server.request.duration",
                dimensions: [
                    ("http.request.method", name), ("http.route", template),
                    ("http.response.status_code", String(status.code)),
                ],
                preferredDisplayUnit: .seconds
            )
            timers[key] = timer
            return timer
        }
        timer.recordNanoseconds(Int64(elapsed.inSeconds * 1e9))
    }
}
