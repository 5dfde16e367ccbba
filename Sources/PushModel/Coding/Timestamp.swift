import FaultInjection

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A time of the wall clock, in milliseconds since 1970-01-01T00:00:00Z.
///
/// For times shown to people and push services (created, expires, sent). Leases and delays are `Duration`s, because the
/// wall clock may jump.
package struct Timestamp: Codable, Hashable, Sendable, Comparable {
    /// Milliseconds since the Unix epoch.
    package let milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    package init(from decoder: any Decoder) throws {
        self.milliseconds = try decoder.singleValueContainer().decode(Int64.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.milliseconds)
    }

    /// This moment.
    package static var now: Timestamp {
        let clock = Int64((Date().timeIntervalSince1970 * 1000).rounded(.down))
        return Timestamp(milliseconds: clock + WallClockJump.milliseconds)
    }

    /// Whole seconds since the Unix epoch, rounded down, as in `apns-expiration` and JWTs.
    package var seconds: Int64 { Self.divide(self.milliseconds, by: 1000).quotient }

    /// RFC 3339 in UTC with milliseconds, such as `2026-11-21T08:30:00.000Z`.
    ///
    /// In whole numbers: `Date` keeps seconds as a floating-point number and prints every second millisecond one too low.
    package var iso8601: String {
        var text: [UInt8] = []
        text.reserveCapacity(24)
        self.appendText(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends ``iso8601`` without making a string.
    package func appendText(to text: inout [UInt8]) {
        let (days, rest) = Self.divide(self.milliseconds, by: 86_400_000)
        let (year, month, day) = Self.civil(day: days)
        func append(_ number: Int64, _ width: Int, _ end: Unicode.Scalar) {
            text.appendPadded(number, to: width)
            text.append(UInt8(ascii: end))
        }
        append(year, 4, "-")
        append(month, 2, "-")
        append(day, 2, "T")
        append(rest / 3_600_000, 2, ":")
        append(rest / 60_000 % 60, 2, ":")
        append(rest / 1000 % 60, 2, ".")
        append(rest % 1000, 3, "Z")
    }

    /// Reads a date-time of RFC 3339, such as `2026-11-21T09:30:00.25+01:00`; digits below milliseconds are dropped.
    ///
    /// nil for anything else. `T` and `Z` may be small; a leap second counts as the first moment of the day after it.
    package init?(rfc3339 text: String) {
        var reader = RFC3339Reader(text)
        guard let milliseconds = reader.milliseconds(dayOf: Self.day) else { return nil }
        self.init(milliseconds: milliseconds)
    }

    /// The day of a date, counted from 1970-01-01; the inverse of ``civil(day:)``.
    private static func day(year: Int64, month: Int64, day: Int64) -> Int64 {
        let marchYear = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = Self.divide(marchYear, by: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// The date of a day of the Gregorian calendar, counted from 1970-01-01.
    ///
    /// Years begin in March here, so that the leap day is a year's last; 400 years have 146,097 days.
    private static func civil(day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        // 0000-03-01 is 719,468 days before 1970-01-01.
        let (era, dayOfEra) = Self.divide(day + 719_468, by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }

    /// Division that rounds down, for moments before 1970.
    private static func divide(_ number: Int64, by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = number.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    /// The moment so much later; beyond what can be told, the last that can.
    package func advanced(by duration: Duration) -> Timestamp {
        Timestamp(milliseconds: self.milliseconds.clampedAdding(duration.milliseconds))
    }

    /// The time from this moment to `other`; negative when `other` is earlier.
    package func duration(to other: Timestamp) -> Duration {
        .milliseconds(other.milliseconds.clampedSubtracting(self.milliseconds))
    }

    package static func < (lhs: Timestamp, rhs: Timestamp) -> Bool { lhs.milliseconds < rhs.milliseconds }
}

extension Duration {
    /// Whole milliseconds, rounded towards zero; of more than fit, as many as do.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = self.components
        return seconds.clampedMultiplied(by: 1000).clampedAdding(attoseconds / 1_000_000_000_000_000)
    }

    /// Seconds as a floating-point number, for metrics and logs.
    package var inSeconds: Double {
        let (seconds, attoseconds) = self.components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}

extension [UInt8] {
    /// Appends a number in decimal digits, with zeros before it up to that width.
    fileprivate mutating func appendPadded(_ number: Int64, to width: Int) {
        var unit: Int64 = 1
        for _ in 1..<width { unit *= 10 }
        guard (0..<unit * 10).contains(number) else {
            // Years beyond four digits.
            self.append(contentsOf: String(number).utf8)
            return
        }
        while unit > 0 {
            self.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / unit % 10))
            unit /= 10
        }
    }
}
