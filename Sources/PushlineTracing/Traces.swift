package import PushModel
package import Settings
package import Tracing

/// Begins the spans of a process, where it traces: else each call of it is a comparison.
///
/// Spans begin with requests. Workers have theirs under those of the requests that asked for their jobs, and begin no trace themselves.
///
/// It is handed to whoever begins spans, and is no tracer of the whole process: libraries below would begin a span for each request of
/// theirs, and so for each device.
package struct Traces: Sendable {
    /// Of a process that does not trace.
    package static let off = Traces()

    /// The span that the task's work is under.
    @TaskLocal private static var span: RecordedSpan?

    /// What is recorded, and where spans go when they end; nil = none are made.
    private let recording: (sampler: Sampler, queue: SpanQueue)?

    private init() { self.recording = nil }

    /// - Parameters:
    ///   - settings: Which traces are recorded.
    ///   - queue: Where spans go when they end.
    package init(_ settings: TraceSettings, to queue: SpanQueue) { self.recording = (Sampler(settings), queue) }

    package var isOn: Bool { self.recording != nil }

    /// The time, for a span that begins before it is known what it is under; nil where nothing is traced.
    package var now: DefaultTracerClock.Timestamp? { self.isOn ? DefaultTracerClock.now : nil }

    /// The span that the task's work is under; nil = none.
    package var current: SpanContext? { self.isOn ? Self.span?.place : nil }

    /// Begins the span of a request.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - caller: The caller's span; nil = it has none, or none that counts.
    ///   - start: When the request came; nil = now.
    /// - Returns: The span; nil where it is not recorded.
    package func request(
        _ name: @autoclosure () -> String,
        from caller: @autoclosure () -> SpanContext?,
        since start: DefaultTracerClock.Timestamp? = nil
    ) -> RecordedSpan? {
        guard self.isOn else { return nil }
        return self.begin(name, .server, maybeUnder: caller(), since: start)
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
        guard self.isOn, let parent = parent(), parent.isSampled else { return nil }
        return self.begin(name, kind, maybeUnder: parent, since: start)
    }

    private func begin(
        _ name: () -> String,
        _ kind: SpanKind,
        maybeUnder parent: SpanContext?,
        since start: DefaultTracerClock.Timestamp?
    ) -> RecordedSpan? {
        let trace = parent?.trace ?? .random()
        guard let (sampler, queue) = self.recording, sampler.takes(trace, under: parent) else { return nil }
        return RecordedSpan(
            name(),
            kind,
            at: SpanContext(trace: trace, span: .random(), isSampled: true),
            under: parent?.span,
            since: start ?? DefaultTracerClock.now,
            queue: queue
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
        let outer = Self.span
        defer { if span.end() { outer?.keep() } }
        do { return try await Self.$span.withValue(span) { try await work() } } catch {
            // What is cancelled is done elsewhere.
            if !(error is CancellationError) { span.fail(String(describing: type(of: error))) }
            throw error
        }
    }
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
