package import PushModel
package import Tracing

/// Begins the spans of a process, where it traces: else each call of it is a comparison.
///
/// Spans begin with requests. Workers have theirs under those of the requests that asked for their jobs, and begin no trace themselves.
package struct Traces: Sendable {
    /// Of a process that does not trace.
    package static let off = Traces(nil)

    private let tracer: SpanTracer?

    package init(_ tracer: SpanTracer?) { self.tracer = tracer }

    package var isOn: Bool { self.tracer != nil }

    /// The time, for a span that begins before it is known what it is under; nil where nothing is traced.
    package var now: DefaultTracerClock.Timestamp? { self.isOn ? DefaultTracerClock.now : nil }

    /// The span that the task's work is under; nil = none.
    package var current: SpanContext? { self.isOn ? ServiceContext.current?.span : nil }

    /// Begins the span of a request.
    ///
    /// - Parameters:
    ///   - name: Its name, until its route is known.
    ///   - caller: The caller's span.
    /// - Returns: The span; nil where it is not recorded.
    package func request(_ name: @autoclosure () -> String, from caller: @autoclosure () -> SpanContext?)
        -> RecordedSpan?
    {
        guard let tracer else { return nil }
        return Self.sampled(tracer.startSpan(name(), context: ServiceContext(under: caller()), ofKind: .server))
    }

    /// Begins a span under another.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - kind: Its kind.
    ///   - parent: The span that it is under.
    ///   - start: When it began; nil = now.
    /// - Returns: The span; nil where it is not recorded, such as without a parent.
    package func begin(
        _ name: @autoclosure () -> String,
        _ kind: SpanKind,
        under parent: @autoclosure () -> SpanContext?,
        since start: DefaultTracerClock.Timestamp? = nil
    ) -> RecordedSpan? {
        guard let tracer, let parent = parent(), parent.isSampled else { return nil }
        return Self.sampled(
            tracer.startSpan(
                name(),
                context: ServiceContext(under: parent),
                ofKind: kind,
                at: start ?? DefaultTracerClock.now
            )
        )
    }

    /// Works as a span, which what is begun meanwhile is under.
    ///
    /// - Parameters:
    ///   - span: The span; nil = none.
    ///   - work: The work.
    /// - Returns: What the work returns.
    /// - Throws: What the work throws; the span says so.
    package func within<Value>(_ span: RecordedSpan?, _ work: () async throws -> Value) async rethrows -> Value {
        guard let span else { return try await work() }
        defer { span.end() }
        do { return try await ServiceContext.$current.withValue(span.context) { try await work() } } catch {
            // What is cancelled is done elsewhere.
            if !(error is CancellationError) {
                span.recordError(error)
                span.setStatus(SpanStatus(code: .error))
            }
            throw error
        }
    }

    /// nil for a span that is not recorded: nobody is to note anything in it, or be under it.
    private static func sampled(_ span: RecordedSpan) -> RecordedSpan? { span.place.isSampled ? span : nil }
}

extension SpanAttributes {
    /// Says what is done with a message of the broker, in OpenTelemetry's names.
    ///
    /// - Parameters:
    ///   - id: The message's number.
    ///   - queue: The queue, as the broker names it.
    ///   - operation: `send` or `process`.
    package mutating func noteMessage(_ id: String, of queue: String, as operation: String) {
        self["messaging.system"] = "rabbitmq"
        self["messaging.destination.name"] = queue
        self["messaging.operation.type"] = operation
        self["messaging.message.id"] = id
    }
}
