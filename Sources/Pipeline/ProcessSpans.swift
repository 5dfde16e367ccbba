import Broker
import PushModel
import PushlineTracing
import Tracing

extension Traces {
    /// Works on a message as a span: under that of whoever has published it, or, where a message says none, of a request that asked for
    /// one of its jobs; linked to those of the others.
    ///
    /// - Parameters:
    ///   - delivery: The message.
    ///   - queue: The queue that it came from.
    ///   - jobs: Its jobs.
    ///   - start: When the work began; nil = now.
    ///   - work: The work, which is given the span; nil where none of its requests is recorded.
    /// - Returns: What the work returns.
    /// - Throws: What the work throws.
    func process<Value>(
        _ delivery: Delivery,
        from queue: String,
        for jobs: @autoclosure () -> [JobTrace],
        since start: DefaultTracerClock.Timestamp?,
        _ work: (RecordedSpan?) async throws -> Value
    ) async rethrows -> Value {
        guard self.isOn else { return try await work(nil) }
        let span = self.process(delivery, from: queue, for: jobs(), since: start)
        return try await self.within(span) { try await work(span) }
    }

    private func process(
        _ delivery: Delivery,
        from queue: String,
        for jobs: [JobTrace],
        since start: DefaultTracerClock.Timestamp?
    ) -> RecordedSpan? {
        let requests = jobs.compactMap { $0.request?.span }
        let parent = delivery.properties.span ?? requests.first
        guard let span = self.begin("process \(queue)", .consumer, under: parent, since: start) else { return nil }
        span.note { attributes in
            attributes.noteMessage(delivery.properties.messageID, of: queue, as: "process")
            attributes["pushline.app"] = delivery.app?.name
            attributes["pushline.jobs"] = Set(jobs.lazy.map(\.job)).count
        }
        span.link(to: requests.lazy.filter { $0.trace != span.place.trace })
        return span
    }
}
