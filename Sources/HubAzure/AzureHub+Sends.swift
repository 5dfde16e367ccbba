import HubWire
import NIOHTTP1
import PushModel

extension AzureHub {
    /// Hands a notification over: the hub has it, and delivers it later.
    ///
    /// - Parameter send: The notification.
    /// - Returns: Its ids.
    /// - Throws: ``AzureHubError``; after one that ``AzureHubError/mayHaveBeenTaken``, a repetition may be a second send.
    package func send(_ send: AzureSend) async throws(AzureHubError) -> AzureReceipt {
        let answer = try await self.transport.call(try Self.request(for: send))
        return AzureReceipt(notificationID: Self.id(ofLocationIn: answer), trackingID: answer.trackingID)
    }

    /// Stops a scheduled notification.
    ///
    /// - Returns: Whether the hub knew it; one that went out already it may not.
    /// - Throws: ``AzureHubError``.
    @discardableResult
    package func cancelScheduled(_ id: String) async throws(AzureHubError) -> Bool {
        let request = AzureRequest(.DELETE, "schedulednotifications", PercentCoding.encode(id))
        return try await self.transport.call(request, expecting: [404]).status != 404
    }

    /// What became of a notification.
    ///
    /// - Parameter id: The id of its receipt.
    /// - Returns: What the hub knows of it.
    /// - Throws: ``AzureHubError``.
    package func telemetry(of id: String) async throws(AzureHubError) -> AzureTelemetry {
        let request = AzureRequest(.GET, "messages", PercentCoding.encode(id))
        do throws(AzureHubError) {
            let answer = try await self.transport.call(request, expecting: [404])
            guard answer.status != 404 else { return .notYet }
            return .details(try answer.read(WireTelemetry.init(reading:)))
        } catch {
            // A tier without telemetry says 403; with a wait it is about quotas.
            guard error.kind == .forbidden else { throw error }
            return .notOffered
        }
    }

    // MARK: Requests

    /// Headers that the wire itself has.
    private static let reserved: Set<String> = [
        "authorization", "connection", "content-length", "content-type", "expect", "host", "te", "trailer",
        "transfer-encoding", "upgrade", "user-agent",
        WireNames.trackingID.lowercased(), WireNames.format.lowercased(), WireNames.tags.lowercased(),
        WireNames.deviceHandle.lowercased(), WireNames.scheduleTime.lowercased(),
    ]

    private static func request(for send: AzureSend) throws(AzureHubError) -> AzureRequest {
        let isBatch = if case .handles = send.target { true } else { false }
        var request = AzureRequest(.POST, send.scheduledAt == nil ? "messages" : "schedulednotifications")
        if isBatch { request = AzureRequest(.POST, "messages", "$batch") }
        request.trackingID = send.trackingID
        request.headers = [(WireNames.format, send.format.name)]
        for header in send.headers {
            guard !Self.reserved.contains(header.name.lowercased()) else {
                throw AzureHubError(.refused, "the header \(header.name.prefix(40)) cannot be passed through")
            }
            request.headers.append(header)
        }
        if let time = send.scheduledAt { request.headers.append((WireNames.scheduleTime, WireTime.schedule(time))) }
        let type = send.contentType ?? send.format.contentType(send.headers)
        (request.body, request.headers) = (send.body, request.headers + [("Content-Type", type)])
        switch send.target {
        case .all: break
        case .expression(let text):
            // One that got lost on its way must not reach everybody.
            guard !text.isEmpty else { throw AzureHubError(.refused, "the expression is empty; send to all") }
            request.headers.append((WireNames.tags, text))
        case .handle(let handle):
            try Self.direct(&request, send)
            request.headers.append((WireNames.deviceHandle, handle))
        case .handles(let handles):
            try Self.direct(&request, send)
            guard (1...WireNames.maximumHandles).contains(handles.count) else {
                throw AzureHubError(
                    .refused,
                    "a batch has 1 to \(WireNames.maximumHandles) handles, not \(handles.count)"
                )
            }
            let batch = DirectSendBody(notification: send.body, type: type, handles: handles)
            let boundary = batch.boundary
            request.body = batch.bytes(boundary: boundary)
            request.headers.removeLast()
            request.headers.append(("Content-Type", "multipart/mixed; boundary=\"\(boundary)\""))
        }
        return request
    }

    private static func direct(_ request: inout AzureRequest, _ send: AzureSend) throws(AzureHubError) {
        guard send.scheduledAt == nil else {
            throw AzureHubError(.refused, "a send to handles cannot be scheduled by the hub; send it when it is time")
        }
        guard send.format != .template else {
            throw AzureHubError(.refused, "a template send goes to registrations, not to handles")
        }
        request.query = [("direct", nil)]
    }
}

extension AzureSend.Format {
    /// The value of `ServiceBusNotification-Format`.
    fileprivate var name: String {
        switch self {
        case .native(let platform): platform.formatName
        case .template: WireNames.templateFormat
        }
    }

    /// The usual media type.
    fileprivate func contentType(_ headers: [(name: String, value: String)]) -> String {
        switch self {
        case .native(.windows):
            headers.contains { $0.name.lowercased() == "x-wns-type" && $0.value.lowercased() == "wns/raw" }
                ? "application/octet-stream" : "application/xml"
        case .native(.windowsPhone): "application/xml;charset=utf-8"
        case .native, .template: "application/json;charset=utf-8"
        }
    }
}
