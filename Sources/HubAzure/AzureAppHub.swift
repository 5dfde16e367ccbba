import Hub
import HubWire
import PushModel

/// An app's Azure hub, as the pipeline takes it.
struct AzureAppHub: NotificationHub {
    let hub: AzureHub

    func take(_ send: HubSend) async throws -> String? {
        var azure = try AzureSend(send)
        azure.trackingID = send.trackingID
        azure.scheduledAt = send.startsAt.flatMap { $0 > .now ? $0 : nil }
        do throws(AzureHubError) { return try await self.hub.send(azure).notificationID } catch {
            throw HubError(error)
        }
    }

    func outcome(of id: String, app: AppID) async throws -> HubOutcome {
        do throws(AzureHubError) {
            switch try await self.hub.telemetry(of: id) {
            case .notYet: return .notYet
            case .notOffered: return .notOffered
            case .details(let details): return .known(HubReport(details))
            }
        } catch { throw HubError(error) }
    }
}

extension AzureSend {
    /// - Throws: ``HubError`` for what a hub of Azure does not take.
    fileprivate init(_ send: HubSend) throws(HubError) {
        let target = try Target(send.audience)
        switch send.form {
        case .template(let properties):
            self.init(.template, body: JSONValue.texts(properties.values).bytes, to: target)
            self.add(properties.headers)
        case .native(let payload):
            let pns = payload.kind.pns
            guard let platform = WirePlatform(pns) else {
                throw HubError(.refused, "an Azure hub does not send to \(pns.descriptor.title)")
            }
            let isFCM = pns == .fcm
            self.init(
                .native(platform),
                body: isFCM ? Array(#"{"message":"#.utf8) + payload.body + Array("}".utf8) : payload.body,
                to: target
            )
            self.add(payload.headers)
        }
    }

    private mutating func add(_ headers: [NativePayload.Header]) {
        for header in headers {
            if header.name.lowercased() == "content-type" {
                self.contentType = header.value
            } else {
                self.headers.append((header.name, header.value))
            }
        }
    }
}

extension AzureSend.Target {
    /// - Throws: ``HubError`` for what a hub of Azure is not sent to by.
    fileprivate init(_ audience: HubSend.Audience) throws(HubError) {
        switch audience {
        case .everyone: self = .all
        // With each parenthesis, because Azure documents no precedence.
        case .expression(let expression): self = .expression(expression.parenthesizedText)
        case .list(let list):
            guard case .handles(let devices) = list.devices else {
                throw HubError(.refused, "an Azure hub cannot send to registration ids")
            }
            let handles = devices.compactMap { device in
                if case .device(let handle)? = device.target { handle.text } else { nil }
            }
            self = handles.count == 1 ? .handle(handles[0]) : .handles(handles)
        }
    }
}

extension HubReport {
    /// A hub has some twenty words for what becomes of a device: of more, and of longer ones, the sum is kept.
    private static let mostWords = 64
    private static let longestWord = 64
    /// The word for that sum.
    private static let rest = "other"

    fileprivate init(_ details: WireTelemetry) {
        self.init(state: details.state, devices: Self.sums(details.counts.flatMap(\.outcomes)))
        let known = details.counts.compactMap { counts in counts.platform.service.map { ($0, counts.outcomes) } }
        // Google's former interface and its present one are one service.
        self.counts = Dictionary(known, uniquingKeysWith: +).mapValues(Self.sums)
        (self.accepted, self.started, self.ended) = (details.enqueued, details.started, details.ended)
        (self.body, self.tags) = (details.body, details.tags)
        for service in details.platforms.compactMap(\.service) where !self.services.contains(service) {
            self.services.append(service)
        }
        self.isForTemplates = details.isForTemplates
    }

    private static func sums(_ outcomes: [WireTelemetry.Outcome]) -> [String: Int] {
        var devices: [String: Int] = [:]
        for outcome in outcomes {
            let isKept =
                devices[outcome.name] != nil
                || devices.count < Self.mostWords && (1...Self.longestWord).contains(outcome.name.utf8.count)
            devices[isKept ? outcome.name : Self.rest, default: 0] += outcome.count
        }
        return devices
    }
}

extension HubError {
    init(_ error: AzureHubError) {
        let kind: Kind =
            if error.mayHaveBeenTaken {
                .unknown
            } else {
                switch error.kind {
                case .retryLater, .throttled: .unavailable(after: error.retryAfter)
                // The next try reads the registration again.
                case .preconditionFailed: .unavailable()
                case .unauthorized, .forbidden, .notFound: .misconfigured
                case .gone, .conflict, .tooLarge, .refused: .refused
                case .unanswered: .unknown
                }
            }
        self.init(kind, error.description, status: error.status)
    }
}
