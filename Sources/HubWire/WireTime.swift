package import PushModel

/// Times as the clients of a hub write them.
package enum WireTime {
    /// How a registration that never ends says so.
    package static let never = "9999-12-31T23:59:59.999"

    /// Reads a time of ISO 8601 as loosely as clients write it: without a zone (it is UTC), without seconds, without the colon
    /// of a zone, in quotes.
    ///
    /// - Returns: nil for anything else.
    package static func loose(_ text: String) -> Timestamp? {
        guard text.utf8.count <= 64 else { return nil }
        let plain = text.filter { $0 != "'" && $0 != "\"" }[...].trimming()
        let form =
            /([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2})(:[0-9]{2})?(?:[.,]([0-9]{1,12}))?\s*(?:([Zz])|([+-][0-9]{2}):?([0-9]{2}))?/
        guard let parts = plain.wholeMatch(of: form) else { return nil }
        let fraction = parts.4.map { ".\($0.prefix(9))" } ?? ""
        let zone = parts.6.flatMap { hours in parts.7.map { "\(hours):\($0)" } } ?? "Z"
        return Timestamp(rfc3339: "\(parts.1)T\(parts.2)\(parts.3 ?? ":00")\(fraction)\(zone)")
    }

    /// The time of a scheduled send: in UTC, to the second, without a zone.
    package static func schedule(_ time: Timestamp) -> String { String(time.iso8601.prefix(19)) }

    /// Reads the time until which APNs is to keep a notification: a time of ISO 8601 or of .NET (`MM/dd/yyyy HH:mm:ss`).
    ///
    /// - Returns: Seconds since 1970 for `apns-expiration`; nil for what cannot be read, which is no reason to refuse a send.
    package static func expiration(_ text: String) -> Int64? {
        let trimmed = String(text[...].trimming())
        if (1...11).contains(trimmed.utf8.count), let seconds = Int64(trimmed), seconds >= 0 { return seconds }
        if let time = Self.loose(trimmed) { return max(0, time.seconds) }
        guard let parts = trimmed.wholeMatch(of: /([0-9]{2})\/([0-9]{2})\/([0-9]{4}) ([0-9]{2}:[0-9]{2}:[0-9]{2})/)
        else {
            return nil
        }
        return Timestamp(rfc3339: "\(parts.3)-\(parts.1)-\(parts.2)T\(parts.4)Z").map { max(0, $0.seconds) }
    }

    /// `11/24/2026 1:05:09 AM`, as error texts have it.
    static func american(_ time: Timestamp) -> String {
        let text = time.iso8601
        guard let parts = text.prefixMatch(of: /([0-9]+)-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}:[0-9]{2})/),
            let month = Int(parts.2), let day = Int(parts.3), let hour = Int(parts.4)
        else { return text }
        let half = hour < 12 ? "AM" : "PM"
        return "\(month)/\(day)/\(parts.1) \(hour % 12 == 0 ? 12 : hour % 12):\(parts.5) \(half)"
    }
}
