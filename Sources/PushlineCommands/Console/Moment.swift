import Foundation
import PushModel

/// A moment as a person writes it.
enum Moment {
    /// RFC 3339, or how long ago: a number and s, m, h or d.
    ///
    /// - Returns: nil for anything else.
    static func parse(_ text: String, now: Date = Date()) -> Date? {
        let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        if let letter = text.last, let unit = units[letter], let count = Int(text.dropLast()),
            (0...1_000_000).contains(count)
        {
            return now.addingTimeInterval(-Double(count) * unit)
        }
        return Timestamp(rfc3339: text).map { Date(timeIntervalSince1970: Double($0.milliseconds) / 1000) }
    }
}
