import Foundation
package import HTTPAPI
import HTTPTypes
package import Hub
import HubWire
package import Hummingbird
import NIOCore
import PushModel
import PushlineLogging
package import Store

/// Answers requests on the wire of a hub.
package struct HubResponder: HTTPResponder {
    package typealias Context = APIContext

    private let host: WireHost
    private let gate: HubGate
    private let registrations: HubRegistrations
    private let installations: HubInstallations
    private let sends: HubSends
    private let telemetry: HubTelemetry

    /// - Parameters:
    ///   - host: Limits and jobs.
    ///   - hub: The hub that is served.
    ///   - store: The store of apps, rules, jobs and registrations.
    package init(host: WireHost, hub: any ServedHub, store: any ResultStore) {
        self.host = host
        self.gate = HubGate(store: store, lifetime: host.directoryLifetime)
        let changes = RegistrationChanges(host: host, store: store)
        self.registrations = HubRegistrations(changes: changes, store: store)
        self.installations = HubInstallations(changes: changes, store: store)
        self.sends = HubSends(
            host: host,
            hub: hub,
            store: store,
            tests: HubTestSends(host: host, hub: hub, store: store)
        )
        self.telemetry = HubTelemetry(hub: hub)
    }

    /// Never throws: every failure is an answer.
    package func respond(to request: Request, context: Context) async throws -> Response {
        await LogContext.$current.withValue(LogContext(request: context.id)) {
            await self.respond(to: request, context)
        }
    }

    private func respond(to request: Request, _ context: Context) async -> Response {
        let start = ContinuousClock.now
        let clientsID = Self.trackingID(of: request)
        let trackingID = clientsID ?? context.id
        var template = "unknown"
        var caller: WireHost.Caller?
        var response: Response
        do {
            try Expectation.check(request.headers)
            guard let target = HubTarget(request.head),
                let operation = HubOperation(request.method, target.parts)
            else { throw WireHost.Refusal(.notFound, "no such path") }
            template = operation.template
            let pass = try await self.host.arrive {
                try await self.gate.pass(target, authorization: request.headers[.authorization])
            }
            caller = WireHost.Caller(app: pass.app, name: HubRequest.caller(pass.rule))
            response = try await self.answer(
                request,
                operation,
                HubRequestHead(target: target, pass: pass, trackingID: trackingID),
                context
            )
        } catch {
            let refusal = self.host.refusal(of: error, route: template)
            response = Self.response(refusal, trackingID: trackingID)
        }
        response.headers[.trackingID] = trackingID
        response.headers[.correlationID] = context.id
        response.headers[.contentTypeOptions] = "nosniff"
        // Every client of the wire insists on TLS.
        response.headers[.strictTransportSecurity] = "max-age=31536000"
        if response.status == .noContent { response.headers[.contentLength] = nil }
        self.host.record(
            request,
            template: template,
            caller: caller,
            trackingID: clientsID,
            start: start,
            &response
        )
        return response
    }

    private func answer(
        _ request: Request,
        _ operation: HubOperation,
        _ head: HubRequestHead,
        _ context: Context
    ) async throws -> Response {
        let (pass, target) = (head.pass, head.target)
        try HubGate.check(operation.right, of: pass.rule)
        let caller = WireHost.Caller(app: pass.app, name: HubRequest.caller(pass.rule))
        return try await self.host.work(
            request,
            context: context,
            caller: caller,
            spec: pass.spec,
            most: operation.maximumBody
        ) { body in
            try await self.handle(
                operation,
                HubRequest(
                    target: target,
                    app: pass.app,
                    spec: pass.spec,
                    rule: pass.rule,
                    headers: request.headers,
                    body: body,
                    trackingID: head.trackingID
                )
            )
        }
    }

    private func handle(_ operation: HubOperation, _ request: HubRequest) async throws -> Response {
        switch operation {
        case .createRegistrationID: self.registrations.createID(request)
        case .createRegistration: try await self.registrations.create(request)
        case .listRegistrations: try await self.registrations.list(request)
        case .registrations(let tag): try await self.registrations.list(request, tag: tag)
        case .readRegistration(let id): try await self.registrations.read(id, request)
        case .putRegistration(let id): try await self.registrations.put(id, request)
        case .deleteRegistration(let id): try await self.registrations.delete(id, request)
        case .listInstallations: try await self.installations.list(request)
        case .readInstallation(let id): try await self.installations.read(id, request)
        case .putInstallation(let id): try await self.installations.put(id, request)
        case .patchInstallation(let id): try await self.installations.patch(id, request)
        case .deleteInstallation(let id): try await self.installations.delete(id, request)
        case .send: try await self.sends.send(request)
        case .sendBatch: try await self.sends.sendBatch(request)
        case .schedule: try await self.sends.schedule(request)
        case .cancelScheduled(let id): try await self.sends.cancel(id, request)
        case .telemetry(let id): try await self.telemetry.read(id, request)
        case .listJobs:
            .wire(
                WireNames.feed,
                WireFeed(title: "Jobs", address: request.address("jobs"), updated: .now).bytes()
            )
        case .refused(let reason): throw WireHost.Refusal(.badRequest, reason)
        }
    }

    /// The client's own id for the request, where it is one.
    private static func trackingID(of request: Request) -> String? {
        guard let text = request.headers[.trackingID], (1...64).contains(text.utf8.count),
            text.utf8.allSatisfy({ PercentCoding.digit($0) != nil || $0 == UInt8(ascii: "-") })
        else { return nil }
        return text
    }

    /// The answer to what is not HTTP, which reaches no responder: an error of the wire.
    package static func malformed(_ detail: String) -> (type: String, body: [UInt8]) {
        let error = WireError(status: HTTPResponse.Status.badRequest.code, detail: detail)
        return (WireNames.xml, error.bytes(trackingID: UUID().uuidString, at: .now))
    }

    private static func response(_ refusal: WireHost.Refusal, trackingID: String) -> Response {
        let error = WireError(status: refusal.status.code, detail: refusal.detail)
        var response = Response.wire(WireNames.xml, error.bytes(trackingID: trackingID, at: .now), refusal.status)
        // A whole number: the Java client cannot read anything else.
        response.headers[.retryAfter] = refusal.retryAfter.map(String.init)
        response.headers[.acceptEncoding] = refusal.acceptEncoding
        return response
    }
}

/// A request that was let in, before its body.
private struct HubRequestHead: Sendable {
    let target: HubTarget
    let pass: HubGate.Pass
    let trackingID: String
}

extension Response {
    /// An answer with a body of the wire.
    static func wire(
        _ type: String = WireNames.xml,
        _ bytes: [UInt8] = [],
        _ status: HTTPResponse.Status = .ok
    ) -> Response {
        Response(
            status: status,
            headers: [.contentType: type],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
        )
    }
}

extension HTTPField.Name {
    static let trackingID = HTTPField.Name.known(WireNames.trackingID)
    static let correlationID = HTTPField.Name.known(WireNames.correlationID)
    static let continuation = HTTPField.Name.known(WireNames.continuation)
    static let contentTypeOptions = HTTPField.Name.known("X-Content-Type-Options")
    static let warning = HTTPField.Name.known("Pushline-Warning")

    private static func known(_ name: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(name) else { preconditionFailure("a header has an invalid name") }
        return name
    }
}
