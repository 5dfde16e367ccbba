import Foundation
import NIOCore
import PushModel

/// Answers as FCM and Google's token endpoint do.
struct FCMResponder: Responder {
    var core: SimulatorCore
    var tokenEndpoint: TokenEndpoint
    var project: String

    private let rules = FCMRules()
    private static let rpcStatus: [Int: String] = [
        400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
        429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 502: "UNAVAILABLE", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
    ]
    /// Errors with only a `status`, without an FcmError.
    private static let bareNames: Set<String> = [
        "UNAUTHENTICATED", "PERMISSION_DENIED", "NOT_FOUND", "BAD_GATEWAY", "GATEWAY_TIMEOUT",
    ]

    init(core: SimulatorCore, tokenEndpoint: TokenEndpoint, project: String) {
        self.core = core
        self.tokenEndpoint = tokenEndpoint
        self.project = project
    }

    func respond(to request: InboundRequest, on connection: ConnectionMemory) -> Reaction {
        if request.pathOnly == "/token" { return self.tokenEndpoint.exchangeAssertion(request) }
        let data = Data(request.body.readableBytesView)
        let checked = self.rules.check(data)
        let token = (try? checked.get())?.target ?? Self.target(in: data)
        if let rejection = self.rejection(of: request, checked) {
            let status = Self.httpStatus(rejection.status)
            self.core.record(
                .fcm,
                token: token,
                request: request,
                status: status,
                reason: rejection.code ?? rejection.status
            )
            return Reaction(.answer(Self.error(status, rejection)))
        }
        let id = String(UInt64.random(in: .min ... .max), radix: 16)
        let name = JSONValue.string("projects/\(self.project)/messages/0:\(id)").compactText
        let success = Answer.json(200, "{\n  \"name\": \(name)\n}\n")
        let isDryRun = (try? checked.get())?.isDryRun == true
        return self.core.decide(
            .fcm,
            token: token,
            request: request,
            success: success,
            // Nobody gets it: it is in order, and no accepted push.
            note: isDryRun ? "validate_only" : nil
        ) { reason, status, _ in
            let name = Self.rpcStatus[status] ?? "UNKNOWN"
            let code = Self.bareNames.contains(reason) || reason.hasPrefix("Status") ? nil : reason
            let message = "A fault on purpose: \(reason)"
            return Self.error(status, .init(status: name, code: code, message: message, field: nil))
        }
    }

    /// The fault of the request's headers and path, and then of the message.
    private func rejection(
        of request: InboundRequest,
        _ checked: Result<FCMRules.Message, FCMRules.RejectionError>
    ) -> FCMRules.Rejection? {
        let parts = request.pathOnly.split(separator: "/", omittingEmptySubsequences: false)
        guard request.method == "POST", parts.count == 5, parts[1] == "v1", parts[2] == "projects",
            parts[4] == "messages:send"
        else { return .init(status: "NOT_FOUND", message: "Method not found.") }
        guard let token = AccessTokens.bearer(request["authorization"]),
            self.core.accessTokens.isGood(token, for: .fcm)
        else {
            return .init(
                status: "UNAUTHENTICATED",
                message: "Request had invalid authentication credentials. Expected OAuth 2 access token."
            )
        }
        guard parts[3] == self.project else {
            return .init(
                status: "PERMISSION_DENIED",
                message: "Permission 'cloudmessaging.messages.create' denied on resource"
            )
        }
        let type = (request["content-type"] ?? "").prefix { $0 != ";" }
        guard type.lowercased() == "application/json" else {
            return .init(status: "INVALID_ARGUMENT", message: "Invalid content type: application/json is required.")
        }
        if case .failure(let error) = checked { return error.rejection }
        return nil
    }

    /// The target of a message that is not in order, for the record.
    private static func target(in data: Data) -> String {
        let root = (try? JSONSerialization.jsonObject(with: data)) as? [String: Any]
        let message = root?["message"] as? [String: Any]
        return message?["token"] as? String ?? (message?["fid"] as? String).map { FCMInstallation.prefix + $0 } ?? ""
    }

    private static func httpStatus(_ name: String) -> Int {
        switch name {
        case "UNAUTHENTICATED": 401
        case "PERMISSION_DENIED": 403
        case "NOT_FOUND": 404
        default: 400
        }
    }

    private static func error(_ status: Int, _ rejection: FCMRules.Rejection) -> Answer {
        var details: [JSONValue] = []
        if let code = rejection.code {
            details.append(
                .members([
                    "@type": .string("type.googleapis.com/google.firebase.fcm.v1.FcmError"), "errorCode": .string(code),
                ])
            )
        }
        if let field = rejection.field {
            let violation = JSONValue.members(["field": .string(field), "description": .string(rejection.message)])
            details.append(
                .members([
                    "@type": .string("type.googleapis.com/google.rpc.BadRequest"),
                    "fieldViolations": .array([violation]),
                ])
            )
        }
        let error = JSONValue.members([
            "code": .integer(status), "message": .string(rejection.message), "status": .string(rejection.status),
            "details": details.isEmpty ? nil : .array(details),
        ])
        return Answer.json(status, JSONValue.members(["error": error]).compactText)
    }
}
