import Crypto
import HTTPTypes
import Hub
import HubWire
import Hummingbird
import Payloads
import PushModel
import Store
import WebServing

/// Sends on the wire.
struct HubSends: Sendable {
    let hub: any NotificationHub
    /// Of the hub's sends, which its scheduled ones are among until they begin.
    let store: any JobStore
    let tests: HubTestSends
    let warnings: SendWarnings

    /// To an expression, to all, or to one handle; a test goes to some devices of an expression, or of all.
    func send(_ request: HubRequest) async throws -> Response {
        try Self.refuseTime(request)
        if TemplateSend.isMeant(by: request) {
            let template = try TemplateSend(request)
            return try await self.accept(template.form, template.original, try Self.audience(request), request)
        }
        let native = try NativeSend(request, body: request.body)
        if request.target.has("direct") || request.header(WireNames.deviceHandle) != nil {
            try Self.refuseTest(request)
            guard let handle = request.header(WireNames.deviceHandle) else {
                throw Problem(.badRequest, "\(WireNames.deviceHandle): is required for a direct send")
            }
            // Its sender may mean the handle if it has the tags, or the handle and all devices with the tags.
            guard request.header(WireNames.tags) == nil else {
                throw Problem(
                    .badRequest,
                    "\(WireNames.tags): a direct send goes to its handle alone; leave the tags out"
                )
            }
            let audience = try Self.list([Self.handle(handle, of: native, request)], of: native, request)
            return try await self.accept(native.form, native.original, audience, request, native.warnings)
        }
        return try await self.accept(native.form, native.original, try Self.audience(request), request, native.warnings)
    }

    /// To up to 1000 handles.
    func sendBatch(_ request: HubRequest) async throws -> Response {
        try Self.refuseTest(request)
        try Self.refuseTime(request)
        for name in [WireNames.tags, WireNames.deviceHandle] where request.header(name) != nil {
            throw Problem(.badRequest, "\(name): must be left out; a batch goes to the handles in its part devices")
        }
        let batch = try DirectSendBody(reading: request.body, contentType: request.headers[.contentType] ?? "")
        guard batch.notification.count <= WireNames.maximumBody else {
            throw Problem(
                .contentTooLarge,
                "the part notification has more than \(WireNames.maximumBody) bytes"
            )
        }
        let native = try NativeSend(request, body: batch.notification)
        let audience = try Self.list(batch.handles, of: native, request)
        return try await self.accept(native.form, native.original, audience, request, native.warnings)
    }

    /// To an expression or to all, at another time.
    func schedule(_ request: HubRequest) async throws -> Response {
        try Self.refuseTest(request)
        // Without tags it would go to all, and it was meant for one.
        guard !request.target.has("direct"), request.header(WireNames.deviceHandle) == nil else {
            throw Problem(
                .badRequest,
                "\(WireNames.deviceHandle): a scheduled send goes to tags or to all, and not to a handle"
            )
        }
        guard let text = request.header(WireNames.scheduleTime), let time = WireTime.loose(text) else {
            throw Problem(
                .badRequest,
                "\(WireNames.scheduleTime): must be a time in UTC, as in 2026-11-21T08:30:00"
            )
        }
        do { try SendStart.check(time) } catch { throw error.named(WireNames.scheduleTime) }
        let audience = try Self.audience(request)
        guard !TemplateSend.isMeant(by: request) else {
            let template = try TemplateSend(request)
            return try await self.accept(template.form, template.original, audience, request, startsAt: time)
        }
        let native = try NativeSend(request, body: request.body)
        return try await self.accept(native.form, native.original, audience, request, native.warnings, startsAt: time)
    }

    /// Stops a scheduled send that has not begun.
    func cancel(_ id: String, _ request: HubRequest) async throws -> Response {
        try await self.store.confirmReads()
        guard let id = JobID(id), let job = try await self.store.job(id, app: request.app), job.work.kind == .send
        else {
            throw Problem(.notFound, "no such notification")
        }
        guard job.state == .scheduled || job.state == .cancelled,
            try await self.store.cancel(id, app: request.app)?.state == .cancelled
        else { throw Problem(.conflict, "the notification can no longer be cancelled: it is \(job.state.rawValue)") }
        return .wire()
    }

    private static func refuseTest(_ request: HubRequest) throws {
        guard !request.target.has("test") else {
            throw Problem(
                .badRequest,
                "test: a test send goes to tags or to all, and at once; leave out test, or leave out the handles and the time"
            )
        }
    }

    /// It would go out at once, and was meant for another time.
    private static func refuseTime(_ request: HubRequest) throws {
        guard request.header(WireNames.scheduleTime) == nil else {
            throw Problem(
                .badRequest,
                "\(WireNames.scheduleTime): a send for another time goes to schedulednotifications"
            )
        }
    }

    // MARK: Audiences

    private static func audience(_ request: HubRequest) throws -> HubSend.Audience {
        guard let text = request.header(WireNames.tags) else { return .everyone }
        // An expression that got lost on its way must not reach everybody.
        guard !text.isEmpty else {
            throw Problem(.badRequest, "\(WireNames.tags): is empty; leave it out to send to all")
        }
        do { return .expression(try WireTags.expression(text, request.spec.users)) } catch {
            throw error.named(WireNames.tags)
        }
    }

    /// The handle of a direct send: a browser's other two parts have headers of their own.
    private static func handle(_ text: String, of native: NativeSend, _ request: HubRequest) -> String {
        guard native.platform == .browser, let key = request.header("P256DH"), let secret = request.header("Auth")
        else {
            return text
        }
        return JSONValue.members(["endpoint": .string(text), "p256dh": .string(key), "auth": .string(secret)])
            .compactText
    }

    private static func list(
        _ handles: [String],
        of native: NativeSend,
        _ request: HubRequest
    ) throws -> HubSend.Audience {
        var devices: [Recipient] = []
        for (index, text) in handles.enumerated() {
            do {
                let handle = try request.spec.handle(native.platform.handleText(ofChannel: text), of: native.pns)
                devices.append(Recipient(place: index + 1, pns: native.pns, handle: handle, reference: nil))
            } catch { throw error.named(handles.count == 1 ? WireNames.deviceHandle : "devices[\(index)]") }
        }
        return .list(RecipientList(handles: devices))
    }

    // MARK: Handing over

    private func accept(
        _ form: HubSend.Form,
        _ original: HubSend.Original?,
        _ audience: HubSend.Audience,
        _ request: HubRequest,
        _ warnings: [InvalidValue] = [],
        startsAt: Timestamp? = nil
    ) async throws -> Response {
        let warning = warnings.isEmpty ? nil : warnings.map(\.description).joined(separator: "; ")
        if let warning { self.warnings.warn(warning, request) }
        if request.target.has("test"), let expression = audience.whole {
            let trackingID = Self.repetition(request)
            var response = try await self.tests.send(form, original, to: expression, trackingID: trackingID, request)
            response.headers[.warning] = warning
            return response
        }
        var send = HubSend(app: request.app, form, to: audience, trackingID: Self.repetition(request))
        (send.caller, send.startsAt, send.original) = (request.callerName, startsAt, original)
        let id = try await self.hub.take(send)
        var response = Response.wire(WireNames.xml, [], .created)
        let resource = startsAt == nil ? "messages" : "schedulednotifications"
        response.headers[.location] = id.map { request.address(resource, $0) }
        response.headers[.warning] = warning
        return response
    }

    /// How the names of the headers begin that say what is sent, and to whom.
    ///
    /// A repetition may differ in others: a proxy's, or `traceparent`, which is another one for each attempt.
    private static let contentHeaders = [
        "content-type", "servicebusnotification-", "apns-", "x-apns-", "x-wns-", "p256dh", "auth",
    ]

    /// A client that repeats a request sends the same `TrackingId` with the same content: it is one send.
    ///
    /// One that uses its id for another content means another send, so the content is part of the id.
    private static func repetition(_ request: HubRequest) -> String? {
        guard request.headers[.trackingID] == request.trackingID else { return nil }
        var hash = SHA256()
        let headers = request.headers
            .filter { field in
                field.name != .authorization && Self.contentHeaders.contains { field.name.canonicalName.hasPrefix($0) }
            }
            .map { "\($0.name.canonicalName): \($0.value)" }.sorted()
        let query = request.target.query.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        hash.update(texts: [request.target.path] + query + headers)
        hash.update(data: request.body)
        return "\(request.trackingID):\(Base64URL.encode(Array(hash.finalize())))"
    }
}

extension HubSend.Audience {
    /// All of it as an expression; nil for a list.
    fileprivate var whole: TagExpression? {
        switch self {
        case .everyone: .everyone
        case .expression(let expression): expression
        case .list: nil
        }
    }
}
