package import HTTPTypes
import Hummingbird
import PushModel
import PushlineTracing
import Tracing

extension HTTPField.Name {
    package static let traceParent = HTTPField.Name.known("traceparent")
    /// Pages may send it; nothing of it is kept.
    package static let traceState = HTTPField.Name.known("tracestate")
}

/// Begins the span of a request, whose route has that template; nil where it is not recorded.
typealias BeginSpan = @Sendable (_ template: String) -> RecordedSpan?

extension Traces {
    /// Begins the span of a request as soon as somebody is let in: strangers have nothing recorded, whatever their `traceparent` says.
    ///
    /// Health checks, which nobody follows, and the page let anybody in, and so have none either.
    ///
    /// - Parameter request: The request.
    /// - Returns: Begins its span, as of now; nil = nothing is traced.
    func spans(of request: Request) -> BeginSpan? {
        guard let start = self.now else { return nil }
        let (method, headers) = (RequestMetrics.name(of: request.method), request.headers)
        return { template in
            // The template, for the path may hold a handle or a user's name.
            self.request(
                "\(method) \(template)",
                from: headers.text(of: .traceParent).flatMap { SpanContext(traceparent: $0) },
                since: start
            )
        }
    }
}

extension RecordedSpan {
    /// Ends the span of a request, whose answer is made.
    func end(_ request: Request, _ exchange: WebExchange, _ status: HTTPResponse.Status) {
        self.note { attributes in
            attributes["http.request.method"] = RequestMetrics.name(of: request.method)
            attributes["http.route"] = exchange.template
            attributes["http.response.status_code"] = status.code
            attributes["pushline.request.id"] = exchange.id
            attributes["pushline.app"] = exchange.app?.name
        }
        // A refusal is the caller's fault.
        if status.code >= 500 { self.fail("\(status.code)") }
        self.end()
    }
}
