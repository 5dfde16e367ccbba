import HTTP2Engine
import PushModel

extension Answer {
    /// The sender's result for a device, after its own retries.
    ///
    /// - Parameter sent: The start of the send: a handle registered later is not the one sent to.
    /// - Returns: The result for the device.
    func result(sent: Timestamp) -> DeviceResult {
        switch self.answer {
        case .accepted: .accepted
        case .wait, .connection:
            .retry(after: self.retryAfter, scope: .sender, counts: true, reason: self.reason, status: self.status)
        case .waitDevice:
            .retry(after: self.retryAfter, scope: .device, counts: true, reason: self.reason, status: self.status)
        case .credential, .stop:
            .misconfigured(reason: self.reason, status: self.status, detail: self.detail)
        case .drop:
            .dead(
                before: self.deadSince.map { Timestamp(milliseconds: $0) } ?? sent,
                reason: self.reason,
                status: self.status
            )
        case .permanent: .rejected(reason: self.reason, status: self.status)
        }
    }
}

extension HTTP2Outcome.NotProcessed {
    var result: DeviceResult {
        switch self {
        case .stopped, .outOfTime: .unsent
        case .noConnection(let fault):
            .retry(after: nil, scope: .sender, counts: false, reason: "no connection: \(fault)", status: nil)
        case .identityRefused(let alert):
            .misconfigured(reason: "the client certificate is refused: \(alert)", status: nil)
        case .refused(let fault):
            .retry(after: nil, scope: .sender, counts: false, reason: "refused: \(fault)", status: nil)
        case .invalid: .rejected(reason: "the handle or a header cannot be sent", status: nil)
        case .closed: .unsent
        }
    }
}

extension HTTP2Outcome.Unanswered {
    var result: DeviceResult {
        switch self {
        case .timeout: .unanswered(reason: "no answer in time")
        case .reset(let code): .unanswered(reason: "stream reset (\(code))")
        case .connectionLost(let fault): .unanswered(reason: "connection lost: \(fault)")
        }
    }
}

extension DeviceResult {
    /// The word for metrics.
    var metricsClass: String {
        switch self {
        case .accepted: "accepted"
        case .retry: "retry"
        case .dead: "dead"
        case .rejected: "rejected"
        case .misconfigured: "misconfigured"
        case .unsent: "unsent"
        case .unanswered: "unanswered"
        case .unknown: "unknown"
        case .settled: "settled"
        case .together(let result): result.metricsClass
        }
    }
}
