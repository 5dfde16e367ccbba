import HTTPTypes
package import Hummingbird
package import Logging
import Metrics
package import PushModel
import PushlineLogging
import PushlineMetrics
package import PushlineTracing

/// An API on what this module has: it finds out what is asked for, and answers in its own words.
package protocol WebFront: Sendable {
    /// Answers a request.
    ///
    /// - Throws: What is wrong; ``refusal(_:of:_:)`` puts it into words.
    func answer(_ request: Request, _ exchange: WebExchange) async throws -> Response

    /// The answer to a request that is refused; nil = there is none, and the connection ends.
    func refusal(_ problem: Problem, of request: Request, _ exchange: WebExchange) -> Response?

    /// Whether the request has a key by which its repeat is known for the same.
    func hasKey(_ request: Request) -> Bool

    /// Adds the headers that each answer has.
    func complete(_ response: inout Response, of request: Request, _ exchange: WebExchange)
}

/// What became of the request is not said: whoever serves it closes its connection, and over HTTP/2 resets its stream.
struct Unanswered: Error {}

/// Answers requests by a front, words what it throws, and notes each request in the log and the metrics.
package struct WebResponder<Front: WebFront>: HTTPResponder {
    package typealias Context = ServingContext

    package let front: Front
    private let proxies: TrustedProxies
    private let failures: FailureReport
    private let access: AccessLog
    private let traces: Traces
    private let metrics = RequestMetrics()
    private let inFlight = MetricDescription.httpRequestsInFlight.meter()

    /// - Parameters:
    ///   - front: The front.
    ///   - proxies: The proxies whose ids of requests count.
    ///   - accessLog: Whether each request is a line of the log, at whatever level that is.
    ///   - traces: Begins a span for each request of somebody who is let in.
    ///   - logger: The logger of requests, and of failures.
    package init(_ front: Front, proxies: TrustedProxies, accessLog: Bool, traces: Traces, logger: Logger) {
        self.front = front
        self.proxies = proxies
        self.failures = FailureReport(logger: logger)
        self.access = AccessLog(logger: logger, isOn: accessLog)
        self.traces = traces
    }

    /// Throws ``Unanswered`` alone, where the front so decides: every other failure is an answer.
    package func respond(to request: Request, context: Context) async throws -> Response {
        let id = self.proxies.requestID(of: request, connection: context.connection) ?? context.id
        let beginSpan = self.traces.spans(of: request)
        return try await LogContext.$current.withValue(LogContext(request: id)) {
            let exchange = WebExchange(id: id, context: context, beginSpan: beginSpan)
            let (response, isAnswered) = await self.respond(to: request, exchange)
            exchange.span?.end(request, exchange, response.status)
            guard isAnswered else { throw Unanswered() }
            return response
        }
    }

    /// - Returns: The answer, and whether the client is to get it.
    private func respond(to request: Request, _ exchange: WebExchange) async -> (Response, isAnswered: Bool) {
        self.inFlight.increment(by: 1)
        defer { self.inFlight.decrement(by: 1) }
        var response: Response
        var isAnswered = true
        do { response = try await self.front.answer(request, exchange) } catch {
            // All other methods come to the same when they are repeated.
            let isRepeatable = request.method != .post || self.front.hasKey(request)
            let problem = self.failures.problem(of: error, route: exchange.template, isRepeatable: isRepeatable)
            let refusal = self.front.refusal(problem, of: request, exchange)
            isAnswered = refusal != nil
            // Log, metrics and span have it as what it is.
            response = refusal ?? Response(status: problem.status)
        }
        self.front.complete(&response, of: request, exchange)
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
            template: exchange.series,
            status: response.status,
            elapsed: ContinuousClock.now - exchange.start
        )
        self.access.note(request, exchange, &response)
        return (response, isAnswered)
    }
}
