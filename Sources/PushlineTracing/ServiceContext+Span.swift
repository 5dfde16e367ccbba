package import PushModel
package import Tracing

extension ServiceContext {
    private enum SpanKey: ServiceContextKey { typealias Value = SpanContext }

    /// The span that work is under; nil = none.
    package var span: SpanContext? {
        get { self[SpanKey.self] }
        set { self[SpanKey.self] = newValue }
    }

    package init(under span: SpanContext?) {
        self = .topLevel
        self.span = span
    }
}
