import Foundation
import NIOConcurrencyHelpers
import NIOCore
import PushModel

/// Answers as APNs does: pushes to devices and channels, or requests to manage channels, for which Apple has other hosts.
struct APNsResponder: Responder {
    var core: SimulatorCore
    var rules: APNsRules
    /// Whether it is the host where channels are managed.
    var managesChannels = false

    func respond(to request: InboundRequest, on connection: ConnectionMemory) -> Reaction {
        let now = Date.now.timeIntervalSince1970
        var reaction =
            if self.managesChannels {
                self.manage(request, on: connection, now: now)
            } else if request.path.hasPrefix(ChannelRules.managementPrefix) {
                self.refuse(request, token: request.path, "BadPath", Self.requestID(of: request))
            } else if request.path.hasPrefix(ChannelRules.broadcastPrefix) {
                self.broadcast(request, on: connection, now: now)
            } else {
                self.push(request, on: connection, now: now)
            }
        // The first valid provider token opens the streams.
        if !connection.isTrusted, connection.current != nil {
            connection.isTrusted = true
            if reaction.maxConcurrentStreams == nil {
                reaction.maxConcurrentStreams = self.core.configuration.apnsStreams
            }
        }
        return reaction
    }

    private func push(_ request: InboundRequest, on connection: ConnectionMemory, now: Double) -> Reaction {
        let token =
            request.path.hasPrefix(APNsRules.pathPrefix)
            ? String(request.path.dropFirst(APNsRules.pathPrefix.count)) : request.path
        let id = ("apns-id", request["apns-id"] ?? UUID().uuidString.lowercased())
        var reason: String?
        if case .refused(let fault) = self.rules.check(request, on: connection, now: now) { reason = fault }
        if reason == nil, let topic = request["apns-topic"] ?? connection.certificate?.topics.first {
            let isItsTopic = self.core.state.withLockedValue { $0.topics.claim(token, for: topic) }
            if !isItsTopic { reason = "DeviceTokenNotForTopic" }
        }
        if let reason { return self.refuse(request, token: token, reason, id) }
        var accepted = Answer(status: 200)
        accepted.add(id.0, id.1)
        if self.core.configuration.sandbox { accepted.add("apns-unique-id", UUID().uuidString.lowercased()) }
        return self.core.decide(.apns, token: token, request: request, success: accepted) {
            Self.rejection($1, $0, id, timestamp: $2.timestamp)
        }
    }

    private func broadcast(_ request: InboundRequest, on connection: ConnectionMemory, now: Double) -> Reaction {
        let channel = request["apns-channel-id"] ?? ""
        let id = Self.requestID(of: request)
        let rules = ChannelRules(apns: self.rules)
        let fault = self.core.state.withLockedValue {
            rules.broadcastFault(request, on: connection, channels: $0.channels, now: now)
        }
        if let fault { return self.refuse(request, token: channel, fault, id) }
        var accepted = Answer(status: 200)
        accepted.add(id.0, id.1)
        accepted.add("apns-unique-id", UUID().uuidString.lowercased())
        return self.core.decide(.apns, token: channel, request: request, success: accepted) { reason, status, _ in
            Self.rejection(status, reason, id)
        }
    }

    /// These requests are not pushes: they are neither recorded nor counted.
    ///
    /// Only faults with the token `channels` hit them: an answer, silence, or a lost answer.
    private func manage(_ request: InboundRequest, on connection: ConnectionMemory, now: Double) -> Reaction {
        let id = Self.requestID(of: request)
        let rules = ChannelRules(apns: self.rules)
        let fault = self.core.state.withLockedValue {
            $0.takeFault(for: .apns, token: ChannelRules.faultToken, at: .channels).first?.action
        }
        switch fault {
        case .answer(let wanted, let given, _, let retryAfter):
            let status = given ?? wanted.flatMap { FaultAnswers.status(of: $0, for: .apns) } ?? 503
            var answer = Self.rejection(status, wanted ?? FaultAnswers.reason(of: status, for: .apns), id)
            if let retryAfter { FaultAnswers.add(retryAfter, to: &answer) }
            return Reaction(.answer(answer))
        case .silence: return Reaction(.silence)
        default: break
        }
        let result = self.core.state.withLockedValue {
            rules.manage(request, on: connection, channels: &$0.channels, now: now)
        }
        if fault == .swallow { return Reaction(.reset) }
        switch result {
        case .success(var answer):
            answer.add(id.0, id.1)
            return Reaction(.answer(answer))
        case .failure(let refusal):
            let status = FaultAnswers.status(of: refusal.reason, for: .apns) ?? 400
            return Reaction(.answer(Self.rejection(status, refusal.reason, id)))
        }
    }

    private static func requestID(of request: InboundRequest) -> (String, String) {
        ("apns-request-id", request["apns-request-id"] ?? UUID().uuidString.lowercased())
    }

    private func refuse(_ request: InboundRequest, token: String, _ reason: String, _ id: (String, String)) -> Reaction
    {
        let status = FaultAnswers.status(of: reason, for: .apns) ?? 400
        self.core.record(.apns, token: token, request: request, status: status, reason: reason)
        return Reaction(.answer(Self.rejection(status, reason, id)))
    }

    private static func rejection(
        _ status: Int,
        _ reason: String,
        _ id: (String, String),
        timestamp: Int64? = nil
    ) -> Answer {
        let time = status == 410 ? timestamp ?? Int64(Date.now.timeIntervalSince1970 * 1000) : nil
        let body = JSONValue.members(["reason": .string(reason), "timestamp": time.map { .integer(Int($0)) }])
        var answer = Answer.json(status, body.compactText)
        answer.add(id.0, id.1)
        return answer
    }
}
