import HTTPAPI
import HTTPTypes
import HubWire
import Hummingbird
import PushModel
import Store

/// What became of a send, on the wire.
struct HubTelemetry: Sendable {
    let store: any ResultStore

    func read(_ id: String, _ request: HubRequest) async throws -> Response {
        guard let id = JobID(id), let job = try await self.store.job(id, app: request.app),
            case .send(let send) = job.work
        else { throw WireHost.Refusal(.notFound, "no such notification") }
        var details = WireTelemetry(
            id: job.id.description,
            address: request.address("messages", job.id.description),
            state: Self.state(of: job),
            enqueued: job.accepted,
            body: Self.body(of: send.content)
        )
        details.started = job.started
        details.ended = job.finished
        if case .tags(let expression) = send.audience { details.tags = expression.description }
        details.isForTemplates = send.content.kind == .template
        let services = details.isForTemplates ? job.counts.keys.sorted() : send.platforms
        details.platforms = services.compactMap(WirePlatform.init)
        details.counts = job.counts.sorted { $0.key < $1.key }.compactMap { pns, counts in
            WirePlatform(pns).map { ($0, Self.outcomes(counts)) }
        }
        return .wire(WireNames.xml, details.bytes)
    }

    static func state(of job: Job) -> WireTelemetry.State {
        switch job.state {
        case .scheduled: .scheduled
        case .queued: .enqueued
        case .running, .retrying, .cancelling, .expiring: .processing
        case .completed: job.hubState == .noTargetFound ? .noTargetFound : .completed
        case .abandoned, .expired: .abandoned
        case .cancelled: .canceled
        }
    }

    static func outcomes(_ counts: DeliveryCounts) -> [WireTelemetry.Outcome] {
        var numbers = ["Success": counts.accepted]
        for (failure, count) in counts.failed { numbers[failure.outcomeName, default: 0] += count }
        numbers["Dropped", default: 0] += counts.expired + counts.cancelled
        return numbers.filter { $0.value > 0 }.sorted { $0.key < $1.key }.map {
            WireTelemetry.Outcome($0.key, $0.value)
        }
    }

    /// The notification as its sender wrote it.
    private static func body(of content: Content) -> String {
        if case .template(let properties) = content { return JSONValue.texts(properties.values).compactText }
        guard case .native(let native) = content, let form = native.forms.first else { return "" }
        return String(decoding: form.body, as: UTF8.self)
    }
}
