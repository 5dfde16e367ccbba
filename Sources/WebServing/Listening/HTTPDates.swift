import Foundation
import NIOConcurrencyHelpers
import PushModel

/// The header `Date`, put together once a second.
final class HTTPDates: Sendable {
    private let last = NIOLockedValueBox<(second: Int, text: String)>((0, ""))

    var now: String {
        // The clock of all else that is said: a client learns from it how far its own is away.
        let second = Int(Timestamp.now.seconds)
        return self.last.withLockedValue { last in
            if last.second != second { last = (second, Self.text(second)) }
            return last.text
        }
    }

    /// As RFC 9110 has it: `Sun, 06 Nov 1994 08:49:37 GMT`.
    static func text(_ second: Int) -> String {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents(
            [.weekday, .day, .month, .year, .hour, .minute, .second],
            from: Date(timeIntervalSince1970: Double(second))
        )
        func padded(_ number: Int?, _ width: Int = 2) -> String {
            let digits = String(number ?? 0)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        let day = Self.days[((parts.weekday ?? 1) - 1) % 7]
        let month = Self.months[((parts.month ?? 1) - 1) % 12]
        let time = [parts.hour, parts.minute, parts.second].map { padded($0) }.joined(separator: ":")
        return "\(day), \(padded(parts.day)) \(month) \(padded(parts.year, 4)) \(time) GMT"
    }

    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}
