import Foundation
import HTTPTypes
import Hub
import HubWire
package import Hummingbird
import Intake
import Logging
import NIOCore
import PushModel
import Store
package import WebServing

/// The hubs on the wire of Azure Notification Hubs: finds the operation, lets the rule in, and words every refusal as the original does.
package struct HubFront: WebFront {
    private let commitWait: Duration
    private let limits: CallerLimits
    private let gate: HubGate
    private let registrations: RegistrationOperations
    private let installations: HubInstallations
    let sends: HubSends
    private let telemetry: HubTelemetry

    init(
        configuration: HubConfiguration,
        intake: JobIntake,
        hub: any ServedHub,
        store: any ResultStore,
        logger: Logger
    ) {
        let serving = configuration.serving
        self.commitWait = configuration.commitWait
        self.limits = CallerLimits(limits: serving, large: LargeBodies(limits: serving))
        self.gate = HubGate(store: store, lifetime: configuration.directoryLifetime)
        let changes = RegistrationChanges(intake: intake, wait: configuration.registerWait, store: store)
        self.registrations = RegistrationOperations(changes: changes, store: store)
        self.installations = HubInstallations(changes: changes, store: store)
        self.sends = HubSends(
            hub: hub,
            store: store,
            tests: HubTestSends(intake: intake, wait: configuration.registerWait, hub: hub, store: store),
            warnings: SendWarnings(logger: logger)
        )
        self.telemetry = HubTelemetry(hub: hub)
    }

    package func answer(_ request: Request, _ exchange: WebExchange) async throws -> Response {
        exchange.clientsID = Self.trackingID(of: request)
        exchange.found(WebExchange.unknown, isOpen: false)
        try Expectation.check(request.headers)
        guard let target = HubTarget(request.head), let operation = HubOperation(request.method, target.parts) else {
            throw Problem.notFound("no such path")
        }
        exchange.found(operation.template, isOpen: false)
        let pass = try await self.limits.arrive {
            try await self.gate.pass(target, authorization: request.headers[.authorization])
        }
        exchange.admitted(HubRequest.name(pass.rule), of: pass.app)
        try HubGate.check(operation.right, of: pass.rule)
        return try await self.limits.work(
            request,
            body: .upTo(operation.maximumBody),
            caller: HubRequest.caller(pass.rule),
            spec: pass.spec,
            connection: exchange.context.body
        ) { body in
            let asked = HubRequest(
                target: target,
                pass: pass,
                headers: request.headers,
                body: body.bytes,
                trackingID: Self.trackingID(of: exchange)
            )
            // What it commits must begin in time, or nothing is done: a client that has given up sends again. Its time is counted from
            // when its body has come: a slow network is not a reason.
            return try await CommitDeadline.$current.withValue(CommitDeadline(self.commitWait)) {
                try await self.handle(operation, asked)
            }
        }
    }

    package func refusal(_ problem: Problem, of request: Request, _ exchange: WebExchange) -> Response? {
        // Official clients repeat whatever is 503, and nothing whose connection is lost.
        if problem.mayBeDoneTwice { return nil }
        let detail =
            problem.errors.count > 1 ? problem.errors.map(\.description).joined(separator: "; ") : problem.detail
        let error = WireError(status: problem.status.code, detail: detail)
        let body = error.bytes(trackingID: Self.trackingID(of: exchange), at: .now)
        var response = Response.wire(WireNames.xml, body, problem.status)
        // A whole number: the Java client cannot read anything else.
        response.headers[.retryAfter] = problem.headers.text(of: .retryAfter)
        // The codings of bodies that are taken, where the refusal is of another.
        response.headers[.acceptEncoding] = problem.headers.text(of: .acceptEncoding)
        return response
    }

    package func hasKey(_ request: Request) -> Bool { Self.trackingID(of: request) != nil }

    package func complete(_ response: inout Response, of request: Request, _ exchange: WebExchange) {
        response.headers[.trackingID] = Self.trackingID(of: exchange)
        response.headers[.correlationID] = exchange.id
        // Every client of the wire insists on TLS.
        response.headers[.strictTransportSecurity] = "max-age=31536000"
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
        case .refused(let reason): throw Problem(.badRequest, reason)
        }
    }

    private static func trackingID(of exchange: WebExchange) -> String { exchange.clientsID ?? exchange.id }

    /// The client's own id for the request, if it is one.
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
    static let warning = HTTPField.Name.known("Pushline-Warning")
}
