import NIOConcurrencyHelpers
package import PushModel
import PushlineLogging
import PushlineTracing

/// A request under way: what its answer, the log and the metrics say of it.
package final class WebExchange: Sendable {
    private struct State {
        var template = WebExchange.unknown
        var isOpen = true
        var app: AppID?
        var caller: String?
        var clientsID: String?
        var origin: String?
        var span: RecordedSpan?
    }

    /// Names the request, in its answer and in the log.
    package let id: String
    /// Its connection.
    package let context: ServingContext
    let start = ContinuousClock.now
    private let beginSpan: BeginSpan?
    private let state = NIOLockedValueBox(State())

    /// - Parameters:
    ///   - id: Names the request.
    ///   - context: Its connection.
    ///   - beginSpan: Begins its span; nil = nothing is traced.
    init(id: String, context: ServingContext, beginSpan: BeginSpan? = nil) {
        self.id = id
        self.context = context
        self.beginSpan = beginSpan
    }

    /// The template of a path that is not known.
    package static let unknown = "unknown"

    /// The matched route's template: raw paths never become dimensions of metrics.
    package var template: String { self.state.withLockedValue { $0.template } }

    /// The route's label in metrics: an unauthenticated client must not create a time series for each route and method.
    var series: String {
        self.state.withLockedValue { $0.isOpen || $0.caller != nil ? $0.template : RequestMetrics.unauthenticated }
    }

    /// Notes the route of the request.
    ///
    /// - Parameters:
    ///   - template: The route's template.
    ///   - isOpen: Whether it admits anybody.
    package func found(_ template: String, isOpen: Bool) {
        self.state.withLockedValue { ($0.template, $0.isOpen) = (template, isOpen) }
    }

    /// Notes who was let in, in words for the log, on a route that was found; from then on it has a span.
    package func admitted(_ caller: String, of app: AppID) {
        let template = self.state.withLockedValue { state in
            (state.caller, state.app) = (caller, app)
            return state.template
        }
        guard let span = self.beginSpan?(template) else { return }
        self.state.withLockedValue { $0.span = span }
        LogContext.set(span: span.place)
    }

    /// nil while nobody is let in, and where it is not recorded.
    var span: RecordedSpan? { self.state.withLockedValue(\.span) }

    var app: AppID? { self.state.withLockedValue { $0.app } }

    var caller: String? { self.state.withLockedValue { $0.caller } }

    /// The client's own id for the request; nil = it gave none.
    package var clientsID: String? {
        get { self.state.withLockedValue { $0.clientsID } }
        set { self.state.withLockedValue { $0.clientsID = newValue } }
    }

    /// The origin of the page that asks, if the app declares it.
    package var origin: String? {
        get { self.state.withLockedValue { $0.origin } }
        set { self.state.withLockedValue { $0.origin = newValue } }
    }
}
