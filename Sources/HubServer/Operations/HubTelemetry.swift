import HTTPTypes
import Hub
import HubWire
import Hummingbird
import PushModel
import WebServing

/// What became of a send, on the wire.
struct HubTelemetry: Sendable {
    let hub: any NotificationHub

    func read(_ id: String, _ request: HubRequest) async throws -> Response {
        guard case .known(let report) = try await self.hub.outcome(of: id, app: request.app) else {
            throw Problem(.notFound, "no such notification")
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
        let counts = report.countsOfPlatforms
        details.platforms =
            report.isForTemplates
            ? counts.map(\.platform) : report.services.compactMap { WirePlatform($0, written: report.platform) }
        details.counts = counts.map { platform, counts in
            (platform, counts.sorted { $0.key < $1.key }.map { WireTelemetry.Outcome($0.key, $0.value) })
        }
        return .wire(WireNames.xml, details.bytes)
    }
}

extension HubReport {
    /// The counts by platform: under the one that the send names, else under that for which the devices were registered.
    fileprivate var countsOfPlatforms: [(platform: WirePlatform, counts: [String: Int])] {
        self.counts.sorted { $0.key < $1.key }.flatMap { pns, counts in
            var rest = counts
            var found: [(platform: WirePlatform, counts: [String: Int])] = []
            for (name, own) in self.platformCounts.sorted(by: { $0.key < $1.key }) {
                guard let platform = WirePlatform(installationName: name), platform.service == pns else { continue }
                rest.merge(own) { $0 - $1 }
                found.append((platform, own))
            }
            rest = rest.filter { $0.value > 0 }
            // Nothing is left where all were registered for the others.
            if let platform = WirePlatform(pns, written: self.platform), !rest.isEmpty || found.isEmpty {
                found.append((platform, rest))
            }
            return found
        }
    }
}
