import Foundation
import PushModel

/// The reasons that a service has, and the answers that carry them.
struct FaultAnswers: Sendable {
    /// The status of each reason.
    let statuses: [String: Int]
    /// The usual reason of a status that several reasons share.
    let usual: [Int: String]

    func reason(of status: Int) -> String {
        self.usual[status] ?? self.statuses.first { $0.value == status }?.key ?? "Status\(status)"
    }

    /// The status of a service's reason; nil if it has no such reason.
    static func status(of reason: String, for pns: PushService) -> Int? {
        SimulatedService.of(pns)?.answers.statuses[reason]
    }

    /// The service's reason for a status.
    static func reason(of status: Int, for pns: PushService) -> String {
        SimulatedService.of(pns)?.answers.reason(of: status) ?? "Status\(status)"
    }

    /// Has an answer ask to wait for seconds, or until a date, which it sends with its own `Date`.
    static func add(_ retryAfter: SimulatorFault.RetryAfter, to answer: inout Answer) {
        switch retryAfter {
        case .seconds(let seconds):
            answer.add("retry-after", String(seconds))
        case .date(let seconds):
            let format = DateFormatter()
            format.locale = Locale(identifier: "en_US_POSIX")
            format.timeZone = TimeZone(secondsFromGMT: 0)
            format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
            let now = Date.now
            answer.add("date", format.string(from: now))
            answer.add("retry-after", format.string(from: now.addingTimeInterval(Double(seconds))))
        }
    }
}
