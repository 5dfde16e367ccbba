import PushModel
package import Settings
package import Tracing

/// Begins spans, and reads and writes W3C's headers.
///
/// It is handed to whoever begins spans, and is no tracer of the whole process: libraries below would begin a span for each request of
/// theirs, and so for each device.
package final class SpanTracer: Tracer {
    private let sampler: Sampler
    private let queue: SpanQueue

    /// - Parameters:
    ///   - settings: Which traces are recorded.
    ///   - queue: Where spans go when they end.
    package init(_ settings: TraceSettings, queue: SpanQueue) {
        self.sampler = Sampler(settings)
        self.queue = queue
    }

    package func startSpan<Instant: TracerInstant>(
        _ operationName: String,
        context: @autoclosure () -> ServiceContext,
        ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant,
        function: String,
        file fileID: String,
        line: UInt
    ) -> RecordedSpan {
        let parent = context().span
        let trace = parent?.trace ?? .random()
        let isSampled = self.sampler.takes(trace, under: parent)
        return RecordedSpan(
            operationName,
            kind,
            at: SpanContext(trace: trace, span: .random(), isSampled: isSampled, state: parent?.state),
            under: parent?.span,
            start: instant().nanosecondsSinceEpoch,
            queue: isSampled ? self.queue : nil
        )
    }

    /// Nothing: what has ended is exported within seconds.
    package func forceFlush() {}

    package func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier,
        into context: inout ServiceContext,
        using extractor: Extract
    ) where Extract.Carrier == Carrier {
        guard let parent = extractor.extract(key: "traceparent", from: carrier) else { return }
        let state = extractor.extract(key: "tracestate", from: carrier)
        context.span = SpanContext(traceparent: parent, tracestate: state) ?? context.span
    }

    package func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext,
        into carrier: inout Carrier,
        using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let span = context.span else { return }
        injector.inject(span.traceparent, forKey: "traceparent", into: &carrier)
        if let state = span.state { injector.inject(state, forKey: "tracestate", into: &carrier) }
    }
}

/// Decides which traces are recorded; by ratio it decides alike in every process.
struct Sampler: Sendable {
    private let kind: TraceSettings.Sampler
    /// Traces whose lower half, without its last bit, is below this.
    private let bound: UInt64

    init(_ settings: TraceSettings) {
        self.kind = settings.sampler
        self.bound = settings.samplerArg >= 1 ? .max : UInt64(settings.samplerArg * 0x1p63)
    }

    /// Whether a span is recorded.
    ///
    /// - Parameters:
    ///   - trace: Its trace.
    ///   - parent: The span that it is under, of this process or another.
    /// - Returns: Whether it is.
    func takes(_ trace: TraceID, under parent: SpanContext?) -> Bool {
        switch self.kind {
        case .alwaysOn: true
        case .alwaysOff: false
        case .ratio: self.isInShare(trace)
        case .parentOrOn: parent?.isSampled ?? true
        case .parentOrOff: parent?.isSampled ?? false
        case .parentOrRatio: parent?.isSampled ?? self.isInShare(trace)
        }
    }

    private func isInShare(_ trace: TraceID) -> Bool { trace.low >> 1 < self.bound }
}
