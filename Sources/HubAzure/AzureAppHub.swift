import Hub
import HubWire
import PushModel

/// An app's Azure hub, as the pipeline takes it.
struct AzureAppHub: WireHub {
    let hub: AzureHub

    func take(_ send: WireSend) async throws(WireHubError) -> String? {
        guard let platform = WirePlatform(send.payload.kind.pns) else {
            throw WireHubError(.refused, "an Azure hub does not send to \(send.payload.kind.pns.descriptor.title)")
        }
        let isFCM = send.payload.kind.pns == .fcm
        var azure = AzureSend(
            .native(platform),
            body: isFCM ? Array(#"{"message":"#.utf8) + send.payload.body + Array("}".utf8) : send.payload.body,
            to: AzureSend.Target(send.address)
        )
        azure.trackingID = send.trackingID
        for header in send.headers {
            if header.name.lowercased() == "content-type" {
                azure.contentType = header.value
            } else {
                azure.headers.append((header.name, header.value))
            }
        }
        do {
            return try await self.hub.send(azure).notificationID
        } catch {
            throw WireHubError(error)
        }
    }

    func outcome(of id: String) async throws(WireHubError) -> WireOutcome {
        do {
            switch try await self.hub.telemetry(of: id) {
            case .notYet: return .notYet
            case .notOffered: return .notOffered
            case .details(let details):
                var devices: [String: Int] = [:]
                for outcome in details.counts.flatMap(\.outcomes) { devices[outcome.name, default: 0] += outcome.count }
                return .known(state: details.state.rawValue, devices: devices, isFinal: details.state.isFinal)
            }
        } catch {
            throw WireHubError(error)
        }
    }
}

extension AzureSend.Target {
    fileprivate init(_ address: HubAddress) {
        self =
            switch address {
            case .everyone: .all
            case .expression(let text): .expression(text)
            case .device(let handle): .handle(handle)
            }
    }
}

extension WireHubError {
    fileprivate init(_ error: AzureHubError) {
        let kind: Kind =
            if error.mayHaveBeenTaken {
                .unknown
            } else {
                switch error.kind {
                case .retryLater, .throttled: .notTaken(after: error.retryAfter)
                case .unauthorized, .forbidden, .notFound: .misconfigured
                case .gone, .conflict, .preconditionFailed, .tooLarge, .refused: .refused
                case .unanswered: .unknown
                }
            }
        self.init(kind, error.description, status: error.status)
    }
}
