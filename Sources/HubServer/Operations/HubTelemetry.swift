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
        guard case .known(let report) = try await self.hub.outcome(of: id, app: request.app) else {
            throw WireHost.Refusal(.notFound, "no such notification")
        }
        var details = WireTelemetry(
            id: id,
            address: request.address("messages", id),
            state: report.state,
            enqueued: report.accepted,
            body: report.body
        )
        (details.started, details.ended, details.tags) = (report.started, report.ended, report.tags)
        details.isForTemplates = report.isForTemplates
        details.platforms = report.services.compactMap { WirePlatform($0, written: report.platform) }
        details.counts = report.counts.sorted { $0.key < $1.key }.compactMap { pns, counts in
            let outcomes = counts.sorted { $0.key < $1.key }
            return WirePlatform(pns, written: report.platform).map { platform in
                (platform, outcomes.map { WireTelemetry.Outcome($0.key, $0.value) })
            }
        }
        return .wire(WireNames.xml, details.bytes)
    }
}
