import Foundation
import NIOCore
import PushModel

/// Answers as WNS and Microsoft's token endpoints do.
struct WNSResponder: Responder {
    var core: SimulatorCore
    var tokenEndpoint: TokenEndpoint

    private let rules = WNSRules()

    init(core: SimulatorCore, tokenEndpoint: TokenEndpoint) {
        self.core = core
        self.tokenEndpoint = tokenEndpoint
    }

    func respond(to request: InboundRequest, on connection: ConnectionMemory) -> Reaction {
        let path = request.pathOnly
        if path == "/accesstoken.srf" { return self.tokenEndpoint.exchangeSecret(request, isStore: true) }
        if path.hasSuffix("/oauth2/v2.0/token"), path.split(separator: "/").count == 4 {
            return self.tokenEndpoint.exchangeSecret(request, isStore: false)
        }
        let channel = (self.core.urls?.wns ?? "") + request.path
        let reason: (Int, String)? = self.rejection(of: request)
        if let (status, description) = reason {
            self.core.record(.wns, token: channel, request: request, status: status, reason: description)
            return Reaction(.answer(Self.answer(status, description: description, to: request)))
        }
        let success = Self.answer(200, description: nil, to: request)
        return self.core.decide(.wns, token: channel, request: request, success: success) { reason, status, _ in
            Self.answer(status, description: reason, to: request)
        }
    }

    private func rejection(of request: InboundRequest) -> (Int, String)? {
        guard request.path.hasPrefix("/wns/"), request.path.utf8.count > "/wns/".utf8.count else {
            return (404, "The channel URI is not known")
        }
        guard let token = AccessTokens.bearer(request["authorization"]), self.core.accessTokens.isGood(token, for: .wns)
        else { return (401, "The access token is missing, wrong or expired") }
        return self.rules.check(request).map { ($0.status, $0.description) }
    }

    private static func answer(_ status: Int, description: String?, to request: InboundRequest) -> Answer {
        var answer = Answer(status: status)
        let id = String(UInt64.random(in: .min ... .max), radix: 16, uppercase: true)
        answer.add("x-wns-msg-id", id)
        answer.add("x-wns-debug-trace", "SIMULATOR")
        if let vector = request["ms-cv"] { answer.add("ms-cv", vector) }
        if status == 200 {
            answer.add("x-wns-status", description ?? "received")
            if request["x-wns-requestforstatus"] == "true" {
                answer.add("x-wns-deviceconnectionstatus", "connected")
            }
        } else {
            answer.add("x-wns-status", "dropped")
        }
        if let description { answer.add("x-wns-error-description", description) }
        return answer
    }
}
