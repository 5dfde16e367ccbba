/// What the dictionary `aps` of a Live Activity must have: the push type has to match the payload, or APNs may refuse the push.
enum LiveActivityRules {
    /// Whether it is one that ActivityKit reads.
    static func fits(_ aps: [String: Any]) -> Bool {
        guard Self.isTime(aps["timestamp"]), let event = aps["event"] as? String else { return false }
        for name in ["stale-date", "dismissal-date"] where aps[name] != nil && !Self.isTime(aps[name]) { return false }
        let hasState = aps["content-state"] is [String: Any]
        switch event {
        case "start":
            return hasState && aps["alert"] is [String: Any] && aps["attributes"] is [String: Any]
                && aps["attributes-type"] is String
        case "update": return hasState
        case "end": return hasState || aps["content-state"] == nil
        default: return false
        }
    }

    /// Seconds since 1970: milliseconds have more than eleven digits.
    private static func isTime(_ value: Any?) -> Bool {
        (value as? Int).map { (0...99_999_999_999).contains($0) } ?? false
    }
}
