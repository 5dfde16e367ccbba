import Payloads
import PushModel

/// What each push service would get of a send: made by the functions that make it for real.
struct SendPreview {
    private let send: SendRequest
    private let priority: Priority
    private let begins: Timestamp
    private let spec: AppSpec
    /// Each service with each credential that the send's handles name.
    private let services: [(pns: PushService, credential: CredentialName)]
    private let warnings: [InvalidValue]

    init(_ body: SendBody, begins: Timestamp, spec: AppSpec) {
        (self.send, self.priority, self.begins, self.spec) = (body.request, body.priority, begins, spec)
        self.services = body.services(spec).flatMap { pns in body.credentials(of: pns).map { (pns, $0) } }
        self.warnings = body.warnings(spec)
    }

    var json: JSONValue {
        .members([
            "services": .array(self.services.map(self.preview)),
            "warnings": self.warnings.isEmpty ? nil : Self.json(self.warnings),
        ])
    }

    private func preview(_ pns: PushService, _ credential: CredentialName) -> JSONValue {
        var faults: [InvalidValue] = []
        // A send that names an undeclared credential was refused before.
        if pns.isInService, credential == .default, !self.spec.hasService(pns) {
            faults.append(InvalidValue(pns.noCredentialsReason()))
        }
        let options = PayloadFormatter.Options(
            self.send,
            for: pns,
            priority: self.priority,
            begins: self.begins,
            now: self.begins
        )
        let measured: PayloadFormatter.Measured
        do throws(InvalidValue) {
            measured = try PayloadFormatter.measure(self.send.content, for: pns, options: options)
        } catch {
            return .members([
                "service": .string(pns.rawValue), "credential": credential.named.map { .string($0.name) },
                "errors": Self.json(faults + [error]),
            ])
        }
        if let excess = measured.excess { faults.append(excess) }
        return .members([
            "service": .string(pns.rawValue),
            "credential": credential.named.map { .string($0.name) },
            "headers": .object(
                self.headers(of: measured.payload, credential).map { .init($0.name, .string($0.value)) }
            ),
            // One that is too large is not sent back: what is wrong with it is its size.
            "payload": measured.excess != nil ? nil : Self.json(measured.payload),
            "size": .integer(measured.size),
            "limit": .integer(measured.limit),
            "errors": faults.isEmpty ? nil : Self.json(faults),
        ])
    }

    private func headers(of payload: NativePayload, _ credential: CredentialName) -> [NativePayload.Header] {
        let headers = PushHeaders(
            payload,
            priority: self.priority,
            keepUntil: self.send.keepUntil(payload, begins: self.begins),
            collapse: self.send.collapse(for: payload.kind.pns),
            now: self.begins
        )
        let pns = payload.kind.pns
        return ServiceFormat.of(pns)?.headers(headers, self.spec.credentials[pns, credential]) ?? []
    }

    private static func json(_ payload: NativePayload) -> JSONValue {
        ServiceFormat.of(payload.kind.pns)?.isJSON == true
            ? .written(payload.body) : .string(String(decoding: payload.body, as: UTF8.self))
    }

    static func json(_ faults: [InvalidValue]) -> JSONValue {
        .array(
            faults.map { fault in
                .members([
                    "member": fault.member.isEmpty ? nil : .string(fault.member), "reason": .string(fault.reason),
                ])
            }
        )
    }
}
