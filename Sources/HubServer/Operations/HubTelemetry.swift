import HTTPAPI
import HTTPTypes
import Hub
import HubWire
import Hummingbird
import PushModel

/// What became of a send, on the wire.
struct HubTelemetry: Sendable {
    let hub: any NotificationHub

    func read(_ id: String, _ request: HubRequest) async throws -> Response {
        guard case .known(let report) = try await self.hub.outcome(of: id, app: request.app), let job = report.job,
            case .send(let send) = job.work
        else { throw WireHost.Refusal(.notFound, "no such notification") }
        var details = WireTelemetry(
            id: job.id.description,
            address: request.address("messages", job.id.description),
            state: report.state,
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
            let outcomes = counts.hubOutcomes.sorted { $0.key < $1.key }
            return WirePlatform(pns).map { ($0, outcomes.map { WireTelemetry.Outcome($0.key, $0.value) }) }
        }
        return .wire(WireNames.xml, details.bytes)
    }

    /// The notification as its sender wrote it.
    private static func body(of content: Content) -> String {
        if case .template(let properties) = content { return JSONValue.texts(properties.values).compactText }
        guard case .native(let native) = content, let form = native.forms.first else { return "" }
        return String(decoding: form.body, as: UTF8.self)
    }
}
