extension Timestamp {
    /// Reads a time of ISO 8601 as loosely as the clients of a hub write it: without a zone (it is UTC), without seconds, without
    /// the colon of a zone, in quotes.
    ///
    /// - Returns: nil for anything else.
    package init?(loose text: String) {
        guard text.utf8.count <= 64 else { return nil }
        let plain = text.filter { $0 != "'" && $0 != "\"" }[...].trimming()
        let form =
            /([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2})(:[0-9]{2})?(?:[.,]([0-9]{1,12}))?\s*(?:([Zz])|([+-][0-9]{2}):?([0-9]{2}))?/
        guard let parts = plain.wholeMatch(of: form) else { return nil }
        let fraction = parts.4.map { ".\($0.prefix(9))" } ?? ""
        let zone = parts.6.flatMap { hours in parts.7.map { "\(hours):\($0)" } } ?? "Z"
        self.init(rfc3339: "\(parts.1)T\(parts.2)\(parts.3 ?? ":00")\(fraction)\(zone)")
    }

    /// Reads the time until which APNs is to keep a notification, as the clients of a hub write it: seconds since 1970, a time or
    /// a day of ISO 8601, or a time of .NET in UTC (`MM/dd/yyyy HH:mm:ss`, also with `AM` or `PM`).
    ///
    /// - Returns: Seconds since 1970; nil for what cannot be read.
    package static func expiration(loose text: String) -> Int64? {
        guard text.utf8.count <= 64 else { return nil }
        let trimmed = String(text[...].trimming())
        if (1...11).contains(trimmed.utf8.count), let seconds = Int64(trimmed), seconds >= 0 { return seconds }
        let time = Timestamp(loose: trimmed) ?? Timestamp(rfc3339: "\(trimmed)T00:00:00Z") ?? Self.american(trimmed)
        // Of a later one APNs has no digits.
        return time.map { min(max(0, $0.seconds), 99_999_999_999) }
    }

    private static func american(_ text: String) -> Timestamp? {
        let form = /([0-9]{1,2})\/([0-9]{1,2})\/([0-9]{4}) ([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?: ((?i:AM|PM)))?/
        guard let parts = text.wholeMatch(of: form), var hour = Int(parts.4) else { return nil }
        if let half = parts.7 {
            guard (1...12).contains(hour) else { return nil }
            hour = hour % 12 + (half.lowercased() == "pm" ? 12 : 0)
        }
        func two(_ digits: some StringProtocol) -> String { digits.count == 1 ? "0\(digits)" : String(digits) }
        let day = "\(parts.3)-\(two(parts.1))-\(two(parts.2))"
        return Timestamp(rfc3339: "\(day)T\(two(String(hour))):\(parts.5):\(parts.6)Z")
    }
}
