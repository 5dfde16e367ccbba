import Foundation
import PushModel

/// A moment as a person writes it.
enum Moment {
    /// RFC 3339, or how long ago: a number and s, m, h or d.
    ///
    /// - Returns: nil for anything else.
    static func parse(_ text: String, now: Date = Date()) -> Date? {
        if let time = Self.time(text) { return now.addingTimeInterval(-time) }
        return Self.date(text)
    }

    /// RFC 3339, or how far ahead: a plus, a number and s, m, h or d.
    ///
    /// - Returns: nil for anything else.
    static func ahead(_ text: String, now: Date = Date()) -> Date? {
        guard text.hasPrefix("+") else { return Self.date(text) }
        return Self.time(String(text.dropFirst())).map { now.addingTimeInterval($0) }
    }

    private static func time(_ text: String) -> Double? {
        let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        guard let letter = text.last, let unit = units[letter], let count = Int(text.dropLast()),
            (0...1_000_000).contains(count)
        else { return nil }
        return Double(count) * unit
    }

    private static func date(_ text: String) -> Date? {
        Timestamp(rfc3339: text).map { Date(timeIntervalSince1970: Double($0.milliseconds) / 1000) }
    }
}
