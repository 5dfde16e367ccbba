package import PushModel

/// Reads `Retry-After`: seconds, or a date (RFC 9110, section 10.2.3).
package enum RetryAfter {
    /// Longer waits are cut to this, the longest lifetime of a job.
    package static let longest = Duration.seconds(7 * 24 * 3600)

    /// How long an answer asks to wait.
    ///
    /// A date is read by the clock of whoever wrote it, the answer's own `Date`: the one here may be set wrong.
    ///
    /// - Parameters:
    ///   - now: What time it is where the answer does not say it.
    ///   - header: The answer's header of a name.
    /// - Returns: The wait, zero for a date in the past; nil if there is none, or it is malformed.
    package static func wait(now: Timestamp = .now, _ header: (String) -> String?) -> Duration? {
        guard let text = header("Retry-After") else { return nil }
        return RetryAfter.parse(text, now: header("Date").flatMap { RetryAfter.date($0) } ?? now)
    }

    /// - Returns: The wait, zero for a date in the past, or nil for malformed text.
    package static func parse(_ text: String, now: Timestamp = .now) -> Duration? {
        let text = text.drop { $0 == " " }
        if !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            guard let seconds = Int64(text) else { return RetryAfter.longest }
            return min(.seconds(min(seconds, 1 << 40)), RetryAfter.longest)
        }
        guard let then = RetryAfter.date(String(text)) else { return nil }
        return min(max(.zero, now.duration(to: then)), RetryAfter.longest)
    }

    /// Reads an IMF-fixdate, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    package static func date(_ text: String) -> Timestamp? {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", let day = Int64(parts[1]), (1...31).contains(day),
            let month = RetryAfter.months.firstIndex(of: String(parts[2])),
            let year = Int64(parts[3]), (1970...9999).contains(year)
        else { return nil }
        let clock = parts[4].split(separator: ":", omittingEmptySubsequences: false).map { Int64($0) ?? -1 }
        guard clock.count == 3, (0...23).contains(clock[0]), (0...59).contains(clock[1]), (0...60).contains(clock[2])
        else { return nil }
        // Days from civil (Gregorian), counted from March so that the leap day comes last.
        let shifted = Int64(month + 10) % 12
        let civil = year - (month < 2 ? 1 : 0)
        let days =
            365 * civil + civil / 4 - civil / 100 + civil / 400 + (shifted * 306 + 5) / 10 + (day - 1) - 719_468
        let seconds = days * 86_400 + clock[0] * 3600 + clock[1] * 60 + clock[2]
        return Timestamp(milliseconds: seconds * 1000)
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
}
