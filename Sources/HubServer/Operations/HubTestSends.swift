import Crypto
import HTTPTypes
import Hub
import HubWire
import Hummingbird
import Intake
import Payloads
import PushModel
import Store
import WebServing

/// Test sends: they go to a few devices of an audience, and the answer has the outcome of each.
///
/// They are jobs like all others, to lists of handles: one job for each notification, because templates make several of one send.
struct HubTestSends: Sendable {
    let intake: JobIntake
    /// How long the outcomes are waited for.
    let wait: Duration
    let hub: any ServedHub
    let store: any ResultStore
    /// Searches of audiences under way.
    let searches = FairPermits(AudienceCounts.maximumUnderWay)

    init(intake: JobIntake, wait: Duration, hub: any ServedHub, store: any ResultStore) {
        (self.intake, self.wait, self.hub, self.store) = (intake, wait, hub, store)
    }

    /// The most devices of a test send, as at the original.
    static let mostDevices = 10

    /// Sends, and waits for the outcomes.
    ///
    /// - Parameters:
    ///   - form: What goes out.
    ///   - original: What its sender wrote.
    ///   - audience: The registrations from which the devices are taken.
    ///   - trackingID: See ``HubSend/trackingID``.
    ///   - request: The request.
    /// - Returns: The outcome of each device; for a device without one at the end of the wait, the state of its send.
    /// - Throws: ``Problem`` 503 while others search; errors of the hub and the store.
    func send(
        _ form: HubSend.Form,
        _ original: HubSend.Original?,
        to audience: TagExpression,
        trackingID: String?,
        _ request: HubRequest
    ) async throws -> Response {
        let found = try await self.search(audience, form, request)
        var (notifications, outcomes) = Self.divide(found, form, request.spec)
        let ids = try await self.hub.take(notifications.map { $0.send(original, trackingID, request) })
        for (index, id) in ids.enumerated() { notifications[index].job = id.flatMap { JobID($0) } }
        // One after the other: a request waits for one job at a time, as that of a registration does.
        let deadline = ContinuousClock.now + self.wait
        for notification in notifications {
            outcomes += await self.outcomes(of: notification, until: deadline, request)
        }
        let order = found.map(\.row)
        outcomes.sort { (order.firstIndex(of: $0.device.row) ?? 0) < (order.firstIndex(of: $1.device.row) ?? 0) }
        let results = outcomes.compactMap { Self.result($0, request) }
        var response = Response.wire(WireNames.xml, WireOutcome(results).bytes, .created)
        // A test send of several jobs has no single place.
        if notifications.count == 1, let job = notifications[0].job {
            response.headers[.location] = request.address("messages", job.description)
        }
        return response
    }

    /// Searches an audience, of which few are searched at once.
    private func search(
        _ audience: TagExpression,
        _ form: HubSend.Form,
        _ request: HubRequest
    ) async throws -> [Registration] {
        guard self.searches.take(for: request.caller) else {
            throw Problem.later(.serviceUnavailable, "too many audiences are being searched at once", seconds: 1)
        }
        defer { self.searches.release(of: request.caller) }
        return try await TestAudience(store: self.store, app: request.app).some(Self.mostDevices, of: audience, form)
    }

    private func end(of id: JobID, app: AppID, until deadline: ContinuousClock.Instant) async throws -> Job? {
        let wait = ContinuousClock.now.duration(to: deadline)
        return try await self.intake.find(id, app: app, until: .outcome, within: wait)
    }

    // MARK: Notifications

    /// A notification, and the devices that get it.
    private struct Notification: Sendable {
        let payload: NativePayload
        var devices: [Registration]
        /// nil = it was not taken.
        var job: JobID?

        /// - Parameters:
        ///   - original: What the sender wrote.
        ///   - trackingID: See ``HubSend/trackingID``.
        ///   - request: The request.
        /// - Returns: Its send.
        func send(_ original: HubSend.Original?, _ trackingID: String?, _ request: HubRequest) -> HubSend {
            var send = HubSend(
                app: request.app,
                .native(self.payload),
                to: .list(self.list),
                trackingID: trackingID.map { "\($0):\(self.digest)" }
            )
            (send.caller, send.original) = (request.callerName, original)
            return send
        }

        /// Names the notification among those of a request, and no other: a repetition may find other devices.
        private var digest: String {
            var hash = SHA256()
            let headers = self.payload.headers.flatMap { [$0.name, $0.value] }
            hash.update(texts: [String(headers.count)] + headers)
            hash.update(
                texts: self.devices.flatMap { [$0.id.text, $0.handle?.text ?? "", $0.credential.name] }
            )
            hash.update(data: self.payload.body)
            return Base64URL.encode(Array(hash.finalize()))
        }

        /// The registration's id is the sender's name for the device.
        private var list: RecipientList {
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
    ) -> ([Notification], [Outcome]) {
        var (notifications, outcomes) = ([Notification](), [Outcome]())
        var templates: TemplateNotifications?
        if case .template(let properties) = form { templates = TemplateNotifications(properties, of: spec) }
        for device in devices {
            do {
                let payload = try Self.payload(form, for: device, templates)
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
                outcomes.append(Outcome(device: device, words: words, isSuccess: false))
            }
        }
        return (notifications, outcomes)
    }

    private static func payload(
        _ form: HubSend.Form,
        for device: Registration,
        _ templates: TemplateNotifications?
    ) throws(InvalidValue) -> NativePayload {
        if case .native(let payload) = form { return payload }
        guard let template = device.template, let pns = device.pns, let templates else {
            throw InvalidValue("the registration has no template")
        }
        return try templates.payload(template.content, for: pns)
    }

    // MARK: Outcomes

    /// What became of a device.
    private struct Outcome {
        let device: Registration
        let words: String
        /// nil = it is not known yet.
        let isSuccess: Bool?
    }

    private func outcomes(
        of notification: Notification,
        until deadline: ContinuousClock.Instant,
        _ request: HubRequest
    ) async -> [Outcome] {
        let devices = notification.devices
        guard let id = notification.job else {
            return devices.map { Outcome(device: $0, words: Self.notTaken, isSuccess: false) }
        }
        let (job, records): (Job, [DeliveryRecord])
        do {
            guard let found = try await self.end(of: id, app: request.app, until: deadline) else {
                return Self.unknown(devices)
            }
            let query = DeliveryQuery(job: id, app: request.app, limit: 1000)
            (job, records) = (found, try await self.store.deliveries(query).items)
        } catch {
            // The send is accepted: a store that cannot be read now must not turn that into a failure.
            return Self.unknown(devices)
        }
        let known = Dictionary(records.map { ($0.reference ?? "", $0) }) { first, _ in first }
        let rest = Self.rest(of: job, notification.payload.kind.pns, without: records)
        return devices.map { device in
            guard let record = known[device.id.text] else {
                return Outcome(
                    device: device,
                    words: rest ?? HubSendState(job).rawValue,
                    isSuccess: job.state.isFinal ? rest == DeliveryCounts.hubSuccess : nil
                )
            }
            return Outcome(device: device, words: record.words, isSuccess: record.outcome == .accepted)
        }
    }

    private static let notTaken = "not sent: too many jobs are unfinished; test again later"

    private static func unknown(_ devices: [Registration]) -> [Outcome] {
        devices.map { Outcome(device: $0, words: HubSendState.unknown.rawValue, isSuccess: nil) }
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

    private static func result(_ outcome: Outcome, _ request: HubRequest) -> WireOutcome.Result? {
        let device = outcome.device
        guard let platform = device.platform, let handle = device.handle,
            // What was stored can be shown: its parts were checked then.
            let parts = try? platform.parts(of: handle)
        else { return nil }
        // Clients expect a handle, but a rule that cannot read registrations is not to get the whole of it.
        let mayRead = request.rule.rights.contains(.listen)
        return WireOutcome.Result(
            platform: platform,
            handle: mayRead ? parts[0] : Handle(stored: parts[0]).description,
            registration: device.id.text,
            outcome: outcome.words,
            isSuccess: outcome.isSuccess
        )
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

    /// How long the search may take, for all services together.
    private static let time = Duration.seconds(5)

    /// The first registrations of each service that a form goes to, in turn.
    func some(_ most: Int, of audience: TagExpression, _ form: HubSend.Form) async throws -> [Registration] {
        let (kind, services): (RegistrationKind, [PushService]) =
            switch form {
            case .native(let payload): (.native, [payload.kind.pns])
            case .template: (.template, PushService.inService)
            }
        let end = ContinuousClock.now + Self.time
        var found: [[Registration]] = []
        let memory = AudienceMemory()
        for pns in services {
            let query = AudienceQuery(.expression(audience), app: self.app, pns: pns, kind: kind, memory: memory)
            found.append(try await self.first(most, of: query, until: end))
        }
        let turns = (0..<most).flatMap { turn in found.compactMap { $0.indices.contains(turn) ? $0[turn] : nil } }
        return Array(turns.prefix(most))
    }

    private func first(
        _ most: Int,
        of audience: AudienceQuery,
        until end: ContinuousClock.Instant
    ) async throws -> [Registration] {
        var (rows, handles) = (Set<Int64>(), Set<Handle>())
        var audience = audience
        // A page of a sparse audience may be empty.
        while audience.after < .max, rows.count < most, ContinuousClock.now < end {
            audience.limit = most - rows.count
            let page = try await self.store.audience(audience)
            for (index, row) in page.rows.enumerated() {
                rows.insert(row)
                handles.insert(page.handles.handle(at: index))
            }
            audience.after = page.scannedThrough
        }
        guard !rows.isEmpty else { return [] }
        var query = RegistrationQuery(
            app: self.app,
            pns: audience.pns,
            handles: Array(handles),
            state: .live,
            limit: 1000
        )
        query.kinds = [audience.kind]
        return try await self.store.registrations(query).items.filter { rows.contains($0.row) }
    }
}
