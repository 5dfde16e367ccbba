import HTTPAPI
import HTTPTypes
import Hub
import HubWire
import Hummingbird
import Payloads
import PushModel
import Store

/// Test sends: they go to a few devices of an audience, and the answer has the outcome of each.
///
/// They are jobs like all others, to lists of handles: one job for each notification, because templates make several of one send.
struct HubTestSends: Sendable {
    let host: WireHost
    let hub: any NotificationHub
    let store: any ResultStore

    /// The most devices of a test send, as at the original.
    static let mostDevices = 10

    /// Sends, and waits for the outcomes.
    ///
    /// - Parameters:
    ///   - form: What goes out.
    ///   - audience: The registrations from which the devices are taken.
    ///   - trackingID: See ``HubSend/trackingID``.
    ///   - request: The request.
    /// - Returns: The outcome of each device; for a device without one at the end of the wait, the state of its send.
    /// - Throws: What ``WireHost`` has words for.
    func send(
        _ form: HubSend.Form,
        to audience: TagExpression,
        trackingID: String?,
        _ request: HubRequest
    ) async throws -> Response {
        let found = try await TestAudience(store: self.store, app: request.app).some(
            Self.mostDevices,
            of: audience,
            form
        )
        var (notifications, results) = Self.divide(found, form, request.spec)
        for index in notifications.indices {
            var send = HubSend(
                app: request.app,
                .native(notifications[index].payload),
                to: .list(notifications[index].list),
                trackingID: trackingID.map { "\($0):\(index)" }
            )
            send.caller = request.caller
            notifications[index].job = try await self.hub.take(send).flatMap { JobID($0) }
        }
        let sent = notifications
        results += try await withThrowingTaskGroup(of: [WireOutcome.Result].self) { group in
            for notification in sent { group.addTask { try await self.results(of: notification, request) } }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        let order = found.map(\.id.text)
        results.sort { (order.firstIndex(of: $0.registration) ?? 0) < (order.firstIndex(of: $1.registration) ?? 0) }
        var response = Response.wire(WireNames.xml, WireOutcome(results).bytes, .created)
        // A test send of several jobs has no single place.
        if sent.count == 1, let job = sent[0].job {
            response.headers[.location] = request.address("messages", job.description)
        }
        return response
    }

    // MARK: Notifications

    /// A notification, and the devices that get it.
    private struct Notification: Sendable {
        let payload: NativePayload
        var devices: [Registration]
        var job: JobID?

        /// The registration's id is the sender's name for the device.
        var list: RecipientList {
            RecipientList(
                handles: self.devices.enumerated().compactMap { index, device in
                    device.handle.map { handle in
                        Recipient(
                            place: index + 1,
                            pns: self.payload.kind.pns,
                            handle: handle,
                            credential: device.credential,
                            reference: device.id.text
                        )
                    }
                }
            )
        }
    }

    /// The notifications for devices; a device whose template makes none has its outcome at once.
    private static func divide(
        _ devices: [Registration],
        _ form: HubSend.Form,
        _ spec: AppSpec
    ) -> ([Notification], [WireOutcome.Result]) {
        var (notifications, results) = ([Notification](), [WireOutcome.Result]())
        for device in devices {
            do {
                let payload = try Self.payload(form, for: device, spec)
                let place = notifications.firstIndex { notification in
                    notification.payload == payload && !notification.devices.contains { $0.handle == device.handle }
                }
                if let place {
                    notifications[place].devices.append(device)
                } else {
                    notifications.append(Notification(payload: payload, devices: [device]))
                }
            } catch {
                let words = "\(FailureClass.rejected.hubOutcome): \(error.description)"
                results += Self.result(of: device, words, isSuccess: false)
            }
        }
        return (notifications, results)
    }

    private static func payload(
        _ form: HubSend.Form,
        for device: Registration,
        _ spec: AppSpec
    ) throws(InvalidValue) -> NativePayload {
        switch form {
        case .native(let payload): return payload
        case .template(let properties):
            guard let template = device.template, let pns = device.pns else {
                throw InvalidValue("the registration has no template")
            }
            return try TemplatePayload.fill(template.content, with: properties, for: pns, of: spec)
        }
    }

    // MARK: Outcomes

    private func results(of notification: Notification, _ request: HubRequest) async throws -> [WireOutcome.Result] {
        guard let id = notification.job, let job = try await self.host.end(of: id, app: request.app) else {
            return notification.devices.flatMap {
                Self.result(of: $0, HubSendState.unknown.rawValue, isSuccess: nil)
            }
        }
        let records = try await self.store.deliveries(DeliveryQuery(job: id, app: request.app, limit: 1000)).items
        let known = Dictionary(records.map { ($0.reference ?? "", $0) }) { first, _ in first }
        let rest = Self.rest(of: job, notification.payload.kind.pns, without: records)
        return notification.devices.flatMap { device -> [WireOutcome.Result] in
            guard let record = known[device.id.text] else {
                return Self.result(
                    of: device,
                    rest ?? HubSendState(job).rawValue,
                    isSuccess: job.state.isFinal ? rest == DeliveryCounts.hubSuccess : nil
                )
            }
            return Self.result(of: device, record.words, isSuccess: record.outcome == .accepted)
        }
    }

    /// The outcome of the devices that the job does not list: by the app's `recording` it lists failures, or all devices.
    ///
    /// - Returns: nil while the job is not final, or if these devices have different outcomes.
    private static func rest(of job: Job, _ pns: PushService, without records: [DeliveryRecord]) -> String? {
        guard job.state.isFinal else { return nil }
        var counts = job.counts[pns]?.hubOutcomes ?? [:]
        for record in records { counts[record.hubOutcome, default: 0] -= 1 }
        let left = counts.filter { $0.value > 0 }
        return left.count == 1 ? left.keys.first : nil
    }

    private static func result(of device: Registration, _ words: String, isSuccess: Bool?) -> [WireOutcome.Result] {
        guard let platform = device.pns.flatMap(WirePlatform.init), let handle = device.handle,
            // What was stored can be shown: its parts were checked then.
            let parts = try? platform.parts(of: handle)
        else { return [] }
        let result = WireOutcome.Result(
            platform: platform,
            handle: parts[0],
            registration: device.id.text,
            outcome: words,
            isSuccess: isSuccess
        )
        return [result]
    }
}

extension DeliveryRecord {
    /// A hub's word for the device's outcome.
    fileprivate var hubOutcome: String {
        switch self.outcome {
        case .accepted: DeliveryCounts.hubSuccess
        case .failed(let failure): failure.hubOutcome
        }
    }

    /// The same with the service's own words.
    fileprivate var words: String {
        let said = [self.status == 0 ? "" : String(self.status), self.reason].filter { !$0.isEmpty }
        return said.isEmpty ? self.hubOutcome : "\(self.hubOutcome): \(said.joined(separator: " "))"
    }
}

/// Some registrations of an audience.
private struct TestAudience {
    let store: any ResultStore
    let app: AppID

    /// How long the search for a service's registrations may take.
    private static let time = Duration.seconds(5)

    /// The first registrations of each service that a form goes to, in turn.
    func some(_ most: Int, of audience: TagExpression, _ form: HubSend.Form) async throws -> [Registration] {
        let (kind, services): (RegistrationKind, [PushService]) =
            switch form {
            case .native(let payload): (.native, [payload.kind.pns])
            case .template: (.template, PushService.inService)
            }
        var found: [[Registration]] = []
        for pns in services { found.append(try await self.first(most, of: audience, kind, pns)) }
        let turns = (0..<most).flatMap { turn in found.compactMap { $0.indices.contains(turn) ? $0[turn] : nil } }
        return Array(turns.prefix(most))
    }

    private func first(
        _ most: Int,
        of audience: TagExpression,
        _ kind: RegistrationKind,
        _ pns: PushService
    ) async throws -> [Registration] {
        var (rows, handles) = (Set<Int64>(), Set<Handle>())
        let memory = AudienceMemory()
        let end = ContinuousClock.now + Self.time
        var after: Int64 = 0
        // A page of a sparse audience may be empty.
        while after < .max, rows.count < most, ContinuousClock.now < end {
            let page = try await self.store.audience(
                of: audience,
                kind: kind,
                app: self.app,
                pns: pns,
                after: after,
                through: .max,
                limit: most - rows.count,
                memory: memory
            )
            for (index, row) in page.rows.enumerated() {
                rows.insert(row)
                handles.insert(page.handles.handle(at: index))
            }
            after = page.scannedThrough
        }
        guard !rows.isEmpty else { return [] }
        var query = RegistrationQuery(app: self.app, pns: pns, handles: Array(handles), state: .live, limit: 1000)
        query.kinds = [kind]
        return try await self.store.registrations(query).items.filter { rows.contains($0.row) }
    }
}
