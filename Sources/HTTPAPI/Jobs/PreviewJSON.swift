import Intake
import Payloads
import PushModel

/// The JSON of a preview.
enum PreviewJSON {
    /// - Parameters:
    ///   - previews: One for each service, with each credential that the send's handles name.
    ///   - warnings: Members of the send that come to nothing.
    /// - Returns: The answer.
    static func json(_ previews: [SendPreview], warnings: [InvalidValue]) -> JSONValue {
        .members([
            "services": Self.json(services: previews),
            "warnings": warnings.isEmpty ? nil : Self.json(warnings),
        ])
    }

    /// What each service gets.
    static func json(services previews: [SendPreview]) -> JSONValue { .array(previews.map(Self.json)) }

    private static func json(_ preview: SendPreview) -> JSONValue {
        let (measured, faults) = (preview.measured, preview.faults)
        let headers = preview.headers.map { JSONValue.Member($0.name, .string($0.value)) }
        return .members([
            "service": .string(preview.service.rawValue),
            "credential": preview.credential.named.map { .string($0.name) },
            "headers": measured.map { _ in .object(headers) },
            // One that is too large is not sent back: what is wrong with it is its size.
            "payload": measured.flatMap { $0.excess != nil ? nil : Self.json($0.payload) },
            "size": measured.map { .integer($0.size) },
            "limit": measured.map { .integer($0.limit) },
            "errors": faults.isEmpty ? nil : Self.json(faults),
        ])
    }

    private static func json(_ payload: NativePayload) -> JSONValue {
        ServiceFormat.of(payload.kind.pns)?.isJSON == true
            ? .written(payload.body) : .string(String(decoding: payload.body, as: UTF8.self))
    }

    /// What is wrong with members, or comes to nothing.
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
