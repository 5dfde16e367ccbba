import PushModel
import PushlineTracing
import Store
import Tracing

extension Traces {
    /// Makes a span of a message's batches for each request that asked for some of them, whatever the number of jobs and devices.
    ///
    /// It is in the request's trace, and linked to the work on the message where that is in another; those in the trace of the work share
    /// one, under that.
    ///
    /// - Parameters:
    ///   - outcomes: The outcomes of the batches, all at one push service.
    ///   - requests: The spans of the requests that asked for their jobs, in the same order; nil = not recorded.
    ///   - work: The span of the work on their message.
    ///   - start: When the first of them was sent.
    func note(
        _ outcomes: [BatchOutcome],
        of requests: [SpanContext?],
        in work: RecordedSpan,
        since start: DefaultTracerClock.Timestamp?
    ) {
        var shares: [SpanContext: [Int]] = [:]
        for (place, request) in requests.enumerated() {
            guard let request else { continue }
            shares[request.trace == work.place.trace ? work.place : request, default: []].append(place)
        }
        for (parent, places) in shares {
            let service = outcomes[places[0]].key.pns.rawValue
            guard let span = self.begin("push \(service)", .client, under: parent, since: start) else { continue }
            if parent != work.place { span.link(to: CollectionOfOne(work.place)) }
            span.note { attributes in
                attributes["pushline.service"] = service
                attributes.note(places.lazy.map { outcomes[$0] })
            }
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
    /// Says what became of the devices of batches, and of which they are.
    fileprivate mutating func note(_ outcomes: some Collection<BatchOutcome>) {
        func sum(_ count: (BatchOutcome) -> Int) -> Int { outcomes.reduce(0) { $0 + count($1) } }
        self["pushline.jobs"] = Set(outcomes.lazy.map(\.key.job)).count
        if outcomes.count == 1, let key = outcomes.first?.key {
            self["pushline.job.id"] = key.job.description
            self["pushline.page"] = key.page
            self["pushline.attempt"] = key.attempt
        }
        self["pushline.devices.accepted"] = sum(\.accepted)
        self["pushline.devices.failed"] = sum(\.failures.count)
        self["pushline.devices.expired"] = sum(\.expired)
        self["pushline.devices.cancelled"] = sum(\.cancelled)
        self["pushline.devices.retried"] = sum(\.retries.count)
    }
}
