import HTTPTypes
import Metrics
import NIOConcurrencyHelpers
import PushModel
import PushlineMetrics

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
