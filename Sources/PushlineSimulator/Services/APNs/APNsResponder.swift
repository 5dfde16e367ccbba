import Foundation
import NIOCore
import PushModel

/// Answers as APNs does.
struct APNsResponder: Responder {
    var core: SimulatorCore
    var rules: APNsRules

    func respond(to request: InboundRequest, on connection: ConnectionMemory) -> Reaction {
        let token =
            request.path.hasPrefix(APNsRules.pathPrefix)
            ? String(request.path.dropFirst(APNsRules.pathPrefix.count)) : request.path
        let id = request["apns-id"] ?? UUID().uuidString.lowercased()
        let verdict = self.rules.check(request, on: connection, now: Date.now.timeIntervalSince1970)
        var opened: Int?
        if !connection.isTrusted, connection.current != nil {
            connection.isTrusted = true
            opened = self.core.configuration.apnsStreams
        }
        if case .refused(let reason) = verdict {
            let status = FaultAnswers.status(of: reason, for: .apns) ?? 400
            self.core.record(.apns, token: token, request: request, status: status, reason: reason)
            var reaction = Reaction(.answer(Self.rejection(status, reason, id: id)))
            reaction.maxConcurrentStreams = opened
            return reaction
        }
        var accepted = Answer(status: 200)
        accepted.add("apns-id", id)
        if self.core.configuration.sandbox { accepted.add("apns-unique-id", UUID().uuidString.lowercased()) }
        var reaction = self.core.decide(.apns, token: token, request: request, success: accepted) {
            Self.rejection($1, $0, id: id, timestamp: $2.timestamp)
        }
        if reaction.maxConcurrentStreams == nil { reaction.maxConcurrentStreams = opened }
        return reaction
    }

    private static func rejection(_ status: Int, _ reason: String, id: String, timestamp: Int64? = nil) -> Answer {
        let time = status == 410 ? timestamp ?? Int64(Date.now.timeIntervalSince1970 * 1000) : nil
        let body = JSONValue.members(["reason": .string(reason), "timestamp": time.map { .integer(Int($0)) }])
        var answer = Answer.json(status, body.compactText)
        answer.add("apns-id", id)
        return answer
    }
}
