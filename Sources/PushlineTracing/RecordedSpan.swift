import NIOConcurrencyHelpers
package import PushModel
package import Tracing

/// A span under way, which is handed on when it ends, if it is sampled.
package final class RecordedSpan: Tracing.Span {
    /// The most links of a span: further ones are left out.
    package static let maximumLinks = 128

    private struct State {
        var name: String
        var attributes = SpanAttributes()
        var links: [SpanContext] = []
        var status: SpanStatus?
        var isOpen = true
    }

    /// Its place in its trace.
    package let place: SpanContext
    private let kind: SpanKind
    private let parent: SpanID?
    private let start: UInt64
    /// nil where it is not sampled.
    private let queue: SpanQueue?
    private let state: NIOLockedValueBox<State>

    /// - Parameters:
    ///   - name: Its name.
    ///   - kind: Its kind.
    ///   - place: Its place in its trace.
    ///   - parent: The span that it is under.
    ///   - start: Nanoseconds since 1970.
    ///   - queue: Where it goes when it ends; nil = nowhere.
    init(
        _ name: String,
        _ kind: SpanKind,
        at place: SpanContext,
        under parent: SpanID?,
        start: UInt64,
        queue: SpanQueue?
    ) {
        self.place = place
        self.kind = kind
        self.parent = parent
        self.start = start
        self.queue = queue
        self.state = NIOLockedValueBox(State(name: name))
    }

    package var context: ServiceContext { ServiceContext(under: self.place) }
    package var isRecording: Bool { self.queue != nil && self.state.withLockedValue(\.isOpen) }

    package var operationName: String {
        get { self.state.withLockedValue(\.name) }
        set { self.state.withLockedValue { $0.name = newValue } }
    }

    package var attributes: SpanAttributes {
        get { self.state.withLockedValue(\.attributes) }
        set { self.state.withLockedValue { $0.attributes = newValue } }
    }

    /// Changes attributes where they are.
    package func note(_ change: (inout SpanAttributes) -> Void) {
        self.state.withLockedValue { change(&$0.attributes) }
    }

    package func setStatus(_ status: SpanStatus) { self.state.withLockedValue { $0.status = status } }

    /// Not kept: spans of ours have no events, and who waits for what is in the log.
    package func addEvent(_ event: SpanEvent) {}

    /// Notes the kind of an error: its words may hold what is nobody's business.
    package func recordError<Instant: TracerInstant>(
        _ error: any Error,
        attributes: SpanAttributes,
        at instant: @autoclosure () -> Instant
    ) {
        self.state.withLockedValue { $0.attributes["error.type"] = String(describing: type(of: error)) }
    }

    package func addLink(_ link: SpanLink) {
        if let span = link.context.span { self.link(to: CollectionOfOne(span)) }
    }

    /// Says what other spans it belongs to, each once.
    package func link(to spans: some Sequence<SpanContext>) {
        self.state.withLockedValue { state in
            var known = Set(state.links.map(\.span))
            for span in spans where known.insert(span.span).inserted {
                guard state.links.count < Self.maximumLinks else { return }
                state.links.append(span)
            }
        }
    }

    package func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        guard let state = self.close(), let queue = self.queue else { return }
        queue.add(
            FinishedSpan(
                place: self.place,
                parent: self.parent,
                name: state.name,
                kind: self.kind,
                start: self.start,
                // The clock may have been set back.
                end: max(self.start, instant().nanosecondsSinceEpoch),
                attributes: state.attributes,
                links: state.links,
                status: state.status
            )
        )
    }

    /// Forgets it: nothing came of it that anybody would look for.
    package func discard() { _ = self.close() }

    /// - Returns: What it was; nil where it has ended before.
    private func close() -> State? {
        self.state.withLockedValue { state in
            guard state.isOpen else { return nil }
            state.isOpen = false
            return state
        }
    }
}

/// A span as it is exported.
struct FinishedSpan: Sendable {
    let place: SpanContext
    let parent: SpanID?
    let name: String
    let kind: SpanKind
    /// Nanoseconds since 1970.
    let start: UInt64
    let end: UInt64
    let attributes: SpanAttributes
    let links: [SpanContext]
    let status: SpanStatus?
}
