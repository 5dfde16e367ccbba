/// How an answer of a push service is to be taken; the same words for every service.
package enum AnswerClass: String, Sendable, CaseIterable {
    /// The service took it.
    case accepted
    /// Retry later, the whole sender.
    case wait
    /// Retry later, only this device.
    case waitDevice
    /// Refresh the credential and try once more; again = ``stop``.
    case credential
    /// Try once more on a new connection; again = ``wait``.
    case connection
    /// The handle is dead.
    case drop
    /// The message is at fault.
    case permanent
    /// The sender is at fault.
    case stop
}

/// A row of a service's table of answers.
struct AnswerRule: Sendable {
    /// nil = any.
    let status: Int?
    /// The service's own word; nil = any.
    let reason: String?
    let answer: AnswerClass

    init(_ status: Int?, _ reason: String?, _ answer: AnswerClass) {
        self.status = status
        self.reason = reason
        self.answer = answer
    }
}

/// A service's table of answers: a known reason word decides, otherwise the status.
struct AnswerTable: Sendable {
    private let byReason: [String: AnswerClass]
    private let byStatus: [Int: AnswerClass]

    init(_ rules: [AnswerRule]) {
        var byReason: [String: AnswerClass] = [:]
        var byStatus: [Int: AnswerClass] = [:]
        for rule in rules {
            if let reason = rule.reason {
                byReason[reason] = rule.answer
            } else if let status = rule.status {
                byStatus[status] = rule.answer
            }
        }
        self.byReason = byReason
        self.byStatus = byStatus
    }

    func answer(status: Int, reason: String?) -> AnswerClass {
        if let reason, let found = self.byReason[reason] { return found }
        if let found = self.byStatus[status] { return found }
        // Answers in no table are classified by status. A redirect is never followed, so it is a fault of the sender.
        switch status {
        case 200..<300: return .accepted
        case 429: return .wait
        case 300..<400: return .stop
        case 400..<500: return .permanent
        default: return .wait
        }
    }
}

/// An answer, as far as it matters.
package struct Answer: Sendable {
    package var answer: AnswerClass
    var status: Int
    /// The service's word, or one of ours: short, without secrets.
    var reason: String
    /// For ``AnswerClass/stop`` and ``AnswerClass/credential``, what the service says beyond its word.
    var detail: String?
    var retryAfter: Duration?
    /// For ``AnswerClass/drop``, the time given by the service.
    var deadSince: Int64?

    init(
        _ answer: AnswerClass,
        status: Int,
        reason: String,
        detail: String? = nil,
        retryAfter: Duration? = nil,
        deadSince: Int64? = nil
    ) {
        self.answer = answer
        self.status = status
        self.reason = reason
        self.detail = detail
        self.retryAfter = retryAfter
        self.deadSince = deadSince
    }
}
