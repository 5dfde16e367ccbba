import PushModel
import PushlineTracing
import Store
import Tracing

extension Traces {
    /// Makes a span of each batch that was sent, whatever the number of its devices.
    ///
    /// It is in the trace of the request that asked for its job, and linked to the work on the message where that is in another.
    ///
    /// - Parameters:
    ///   - outcomes: The outcomes of the batches.
    ///   - requests: The spans of the requests that asked for their jobs, in the same order; nil = not recorded.
    ///   - work: The span of the work on their message.
    ///   - start: When the first of them was sent.
    func note(
        _ outcomes: [BatchOutcome],
        of requests: [SpanContext?],
        in work: RecordedSpan,
        since start: DefaultTracerClock.Timestamp?
    ) {
        for (outcome, request) in zip(outcomes, requests) {
            guard let request else { continue }
            let isSameTrace = request.trace == work.place.trace
            let parent = isSameTrace ? work.place : request
            guard let span = self.begin("push \(outcome.key.pns.rawValue)", .client, under: parent, since: start) else {
                continue
            }
            if !isSameTrace { span.link(to: CollectionOfOne(work.place)) }
            span.note { $0.note(outcome) }
            span.end()
        }
    }
}

extension [LocatedStatus] {
    /// The jobs of batches, with the requests that asked for them.
    ///
    /// - Parameter keys: The batches, in the same order.
    /// - Returns: A job for each.
    func traces(of keys: [BatchKey]) -> [JobTrace] {
        zip(keys, self).map { JobTrace($0.job, request: $1.request) }
    }
}

extension SpanAttributes {
    fileprivate mutating func note(_ outcome: BatchOutcome) {
        self["pushline.service"] = outcome.key.pns.rawValue
        self["pushline.job.id"] = outcome.key.job.description
        self["pushline.page"] = outcome.key.page
        self["pushline.attempt"] = outcome.key.attempt
        self["pushline.devices.accepted"] = outcome.accepted
        self["pushline.devices.failed"] = outcome.failures.count
        self["pushline.devices.expired"] = outcome.expired
        self["pushline.devices.cancelled"] = outcome.cancelled
        self["pushline.devices.retried"] = outcome.retries.count
    }
}
