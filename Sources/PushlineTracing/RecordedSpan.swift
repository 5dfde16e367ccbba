import NIOConcurrencyHelpers
package import PushModel
package import Tracing

/// A span under way, which is handed on when it ends.
package final class RecordedSpan: Sendable {
    /// The most links of a span: further ones are left out.
    package static let maximumLinks = 128

    private struct State {
        var attributes = SpanAttributes()
        var links: [SpanContext] = []
        var hasFailed = false
        /// Whether it has spans under it.
        var isKept = false
        var isOpen = true
    }

    /// Its place in its trace.
    package let place: SpanContext
    private let name: String
    private let kind: SpanKind
    private let parent: SpanID?
    private let start: DefaultTracerClock.Timestamp
    private let queue: SpanQueue
    private let state = NIOLockedValueBox(State())

    /// - Parameters:
    ///   - name: Its name.
    ///   - kind: Its kind.
    ///   - place: Its place in its trace.
    ///   - parent: The span that it is under.
    ///   - start: When it began.
    ///   - queue: Where it goes when it ends.
    init(
        _ name: String,
        _ kind: SpanKind,
        at place: SpanContext,
        under parent: SpanID?,
        since start: DefaultTracerClock.Timestamp,
        queue: SpanQueue
    ) {
        self.name = name
        self.place = place
        self.kind = kind
        self.parent = parent
        self.start = start
        self.queue = queue
    }

    /// Changes attributes where they are.
    package func note(_ change: (inout SpanAttributes) -> Void) {
        self.state.withLockedValue { change(&$0.attributes) }
    }

    /// Says that its work failed.
    ///
    /// - Parameter kind: The kind of the fault, without its words: those may hold what is nobody's business.
    package func fail(_ kind: String) {
        self.state.withLockedValue { state in
            state.attributes["error.type"] = kind
            state.hasFailed = true
        }
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

    /// Hands it on.
    ///
    /// - Parameter end: When it ended.
    /// - Returns: false where it was discarded or has ended before.
    @discardableResult
    package func end(at end: DefaultTracerClock.Timestamp = DefaultTracerClock.now) -> Bool {
        guard let state = self.close() else { return false }
        let start = self.start.nanosecondsSinceEpoch
        self.queue.add(
            FinishedSpan(
                place: self.place,
                parent: self.parent,
                name: self.name,
                kind: self.kind,
                start: start,
                // The clock may have been set back.
                end: max(start, end.nanosecondsSinceEpoch),
                attributes: state.attributes,
                links: state.links,
                hasFailed: state.hasFailed
            )
        )
        return true
    }

    /// Says that work under it was handed on as a span of its own.
    func keep() { self.state.withLockedValue { $0.isKept = true } }

    /// Forgets it, for nothing came of it that anybody would look for; unless work under it was handed on, which would be under nothing.
    package func discard() { self.state.withLockedValue { if !$0.isKept { $0.isOpen = false } } }

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
    let hasFailed: Bool
}
