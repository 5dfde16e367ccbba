package import HTTPTypes
import Hummingbird
import PushModel
import PushlineTracing
import Tracing

extension SpanContext {
    /// The span of whoever makes a request; nil = none.
    convenience init?(of headers: HTTPFields) {
        guard let parent = headers.text(of: .traceParent) else { return nil }
        self.init(traceparent: parent, tracestate: headers.text(of: .traceState))
    }
}

extension HTTPField.Name {
    package static let traceParent = HTTPField.Name.known("traceparent")
    package static let traceState = HTTPField.Name.known("tracestate")
}

extension RecordedSpan {
    /// What asks every few seconds whether the process is well: nobody follows that.
    private static let probes: Set<String> = ["/healthz", "/readyz", "/metrics"]

    /// Ends the span of a request, whose answer is made.
    ///
    /// It has the template of the route, for the path may hold a handle or a user's name.
    func end(_ request: Request, _ exchange: WebExchange, _ status: HTTPResponse.Status) {
        guard !Self.probes.contains(exchange.template) else { return self.discard() }
        let method = RequestMetrics.name(of: request.method)
        self.operationName = "\(method) \(exchange.template)"
        self.note { attributes in
            attributes["http.request.method"] = method
            attributes["http.route"] = exchange.template
            attributes["http.response.status_code"] = status.code
            attributes["pushline.request.id"] = exchange.id
            attributes["pushline.app"] = exchange.app?.name
        }
        // A refusal is the caller's fault.
        if status.code >= 500 { self.setStatus(SpanStatus(code: .error)) }
        self.end()
    }
}
