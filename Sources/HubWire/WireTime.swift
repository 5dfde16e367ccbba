package import PushModel

/// Times as the clients of a hub write them.
package enum WireTime {
    /// How a registration that never ends says so, in the answer to what it was written by.
    package static let never = "9999-12-31T23:59:59.999"

    /// How one that is read says so, alone or in a list.
    package static let neverWhenRead = "\(never)Z"
    /// How an installation says so, and a registration of one.
    package static let neverOfInstallation = "9999-12-31T23:59:59.9999999Z"

    /// Whether a time is the end of time, which stands for no end.
    package static func isNever(_ time: Timestamp) -> Bool { time.iso8601.hasPrefix("9999-") }

    /// Reads a time of ISO 8601 as loosely as clients write it; see ``Timestamp/init(loose:)``.
    package static func loose(_ text: String) -> Timestamp? { Timestamp(loose: text) }

    /// The time of a scheduled send: in UTC, to the second, without a zone.
    package static func schedule(_ time: Timestamp) -> String { String(time.iso8601.prefix(19)) }

    /// Reads the time until which APNs is to keep a notification; see ``Timestamp/expiration(loose:)``.
    ///
    /// - Returns: Seconds since 1970 for `apns-expiration`; nil for what cannot be read, which is not a reason to refuse a send.
    package static func expiration(_ text: String) -> Int64? { Timestamp.expiration(loose: text) }

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
