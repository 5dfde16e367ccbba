/// What the dictionary `aps` of a Live Activity must have: the push type has to match the payload, or APNs may refuse the push.
enum LiveActivityRules {
    /// What only a start has.
    private static let ofStart = ["attributes-type", "attributes", "input-push-token", "input-push-channel"]

    /// Whether it is one that ActivityKit reads.
    static func fits(_ aps: [String: Any]) -> Bool {
        guard Self.isTime(aps["timestamp"]), let event = aps["event"] as? String else { return false }
        for name in ["stale-date", "dismissal-date"] where aps[name] != nil && !Self.isTime(aps[name]) { return false }
        if aps["relevance-score"] != nil, aps["relevance-score"] as? Double == nil { return false }
        if event != "start", Self.ofStart.contains(where: { aps[$0] != nil }) { return false }
        if event != "end", aps["dismissal-date"] != nil { return false }
        let hasState = aps["content-state"] is [String: Any]
        switch event {
        case "start":
            return hasState && aps["alert"] is [String: Any] && aps["attributes"] is [String: Any]
                && aps["attributes-type"] is String && Self.hasOneInput(aps)
        case "update": return hasState
        case "end": return hasState || aps["content-state"] == nil
        default: return false
        }
    }

    /// An activity gets a token of its own or listens to a channel, if either.
    private static func hasOneInput(_ aps: [String: Any]) -> Bool {
        guard aps["input-push-channel"] != nil else {
            return aps["input-push-token"] == nil || aps["input-push-token"] as? Int == 1
        }
        return aps["input-push-channel"] is String && aps["input-push-token"] == nil
    }

    /// Seconds since 1970: milliseconds have more than eleven digits.
    private static func isTime(_ value: Any?) -> Bool {
        (value as? Int).map { (0...99_999_999_999).contains($0) } ?? false
    }
}
