import DequeModule
import Metrics
import NIOConcurrencyHelpers
import PushlineMetrics

/// Spans that have ended and wait to be exported: a few, of which the oldest go where more come than a collector takes.
package final class SpanQueue: Sendable {
    /// The most that wait.
    package static let capacity = 2048
    /// The most that are exported at a time.
    package static let batch = 512

    private let spans = NIOLockedValueBox(Deque<FinishedSpan>())
    private let dropped = MetricDescription.traceSpans.counter([.result: "dropped"])
    /// Says that there is a batch.
    let wake: AsyncStream<Void>
    let wakeUp: AsyncStream<Void>.Continuation

    package init() { (self.wake, self.wakeUp) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    func add(_ span: FinishedSpan) {
        let (isFull, hasBatch) = self.spans.withLockedValue { spans in
            let isFull = spans.count >= Self.capacity
            if isFull { spans.removeFirst() }
            spans.append(span)
            return (isFull, spans.count.isMultiple(of: Self.batch))
        }
        if isFull { self.dropped.increment() }
        if hasBatch { self.wakeUp.yield() }
    }

    /// The oldest that wait, a batch at most.
    func take() -> [FinishedSpan] {
        self.spans.withLockedValue { spans in
            let taken = Array(spans.prefix(Self.batch))
            spans.removeFirst(taken.count)
            return taken
        }
    }

    /// Puts back what was taken and not exported, as far as there is room: they are the oldest.
    func giveBack(_ taken: [FinishedSpan]) {
        let lost = self.spans.withLockedValue { spans in
            let room = max(0, Self.capacity - spans.count)
            spans.prepend(contentsOf: taken.suffix(room))
            return max(0, taken.count - room)
        }
        if lost > 0 { self.dropped.increment(by: lost) }
    }

    var count: Int { self.spans.withLockedValue(\.count) }
}
