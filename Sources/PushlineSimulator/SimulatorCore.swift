import Foundation
import NIOConcurrencyHelpers
import NIOCore
import PushModel

/// The shared state of a simulator's listeners.
final class SimulatorCore: Sendable {
    let configuration: SimulatorConfiguration
    let state: NIOLockedValueBox<SimulatorState>
    let accessTokens: AccessTokens
    private let addresses = NIOLockedValueBox<SimulatorURLs?>(nil)

    init(configuration: SimulatorConfiguration) {
        self.configuration = configuration
        self.state = NIOLockedValueBox(SimulatorState(keep: configuration.keepReceived))
        self.accessTokens = AccessTokens(lifetime: configuration.accessTokenLifetime)
    }

    /// Known once all listeners are bound.
    var urls: SimulatorURLs? {
        get { self.addresses.withLockedValue { $0 } }
        set { self.addresses.withLockedValue { $0 = newValue } }
    }

    func record(_ pns: PushService, token: String, request: InboundRequest, status: Int, reason: String?) {
        self.state.withLockedValue {
            $0.journal.record(pns, token: token, request: request, status: status, reason: reason)
        }
    }

    /// The parts of a faulty answer besides status and reason.
    struct FaultyAnswer {
        var timestamp: Int64?
    }

    /// Applies the faults to a request that is in order, and records it.
    ///
    /// - Parameters:
    ///   - pns: The service.
    ///   - token: The device.
    ///   - request: The request.
    ///   - success: The answer without a fault.
    ///   - note: The record's reason without a fault; nil = it is an accepted push.
    ///   - failure: Makes the answer of a fault.
    /// - Returns: What is answered.
    func decide(
        _ pns: PushService,
        token: String,
        request: InboundRequest,
        success: Answer,
        note: String? = nil,
        failure: (_ reason: String, _ status: Int, _ fault: FaultyAnswer) -> Answer
    ) -> Reaction {
        self.state.withLockedValue { state in
            let faults = state.takeFault(for: pns, token: token)
            var reaction = Reaction(.answer(success))
            var status = success.status
            var reason = note
            var latency = 0
            for fault in faults {
                latency += fault.latency
                switch fault.action {
                case .answer(let wanted, let given, let timestamp, let retryAfter):
                    (reaction.kind, status, reason) = Self.faulty(
                        pns,
                        reason: wanted,
                        status: given,
                        retryAfter: retryAfter
                    ) { failure($0, $1, FaultyAnswer(timestamp: timestamp)) }
                case .reset: (reaction.kind, status, reason) = (.reset, 0, "reset")
                case .refuse: (reaction.kind, status, reason) = (.refuse, 0, "refuse")
                case .close: (reaction.kind, status, reason) = (.close, 0, "close")
                case .silence: (reaction.kind, status, reason) = (.silence, 0, "silence")
                // Recorded as accepted, which it is.
                case .swallow: reaction.kind = .reset
                case .garbage: (reaction.kind, status, reason) = (.garbage, 0, "garbage")
                case .goAway(let debug, let isGraceful):
                    let data = JSONValue.members(["reason": .string(debug)]).compactText
                    if isGraceful {
                        reaction.goAwayAfter = data
                    } else {
                        (reaction.kind, status, reason) = (.goAway(debug: data), 0, "goaway")
                    }
                case .settings(let limit): reaction.maxConcurrentStreams = limit
                case .delay, .tokenEndpoint, .mute, .plain, .expiredCertificate: break
                }
            }
            if latency > 0 { reaction.delay = .milliseconds(Int64(latency)) }
            state.journal.record(pns, token: token, request: request, status: status, reason: reason)
            return reaction
        }
    }

    private static func faulty(
        _ pns: PushService,
        reason wanted: String?,
        status given: Int?,
        retryAfter: SimulatorFault.RetryAfter?,
        failure: (_ reason: String, _ status: Int) -> Answer
    ) -> (Reaction.Kind, Int, String) {
        let known = wanted.flatMap { FaultAnswers.status(of: $0, for: pns) }
        let status = given ?? known ?? 503
        let reason = wanted ?? FaultAnswers.reason(of: status, for: pns)
        var answer = failure(reason, status)
        if let retryAfter {
            FaultAnswers.add(retryAfter, to: &answer)
            if reason == "channelthrottled", case .seconds(let seconds) = retryAfter {
                answer.add("x-wns-continue-after", String(seconds))
            }
        }
        return (.answer(answer), status, reason)
    }

    /// The fault that hits a token endpoint, if any.
    func tokenEndpointFault(of pns: PushService) -> SimulatorFault? {
        self.state.withLockedValue { $0.takeFault(for: pns, token: "", at: .tokenEndpoint).first }
    }

    /// The fault that hits a connection just accepted, if any.
    func connectionFault(of pns: PushService) -> SimulatorFault.Action? {
        self.state.withLockedValue { $0.takeFault(for: pns, token: "", at: .connection).first?.action }
    }

    func issueAccessToken(for pns: PushService) -> String {
        self.state.withLockedValue { $0.journal.countAccessToken(of: pns) }
        return self.accessTokens.issue(for: pns)
    }
}
