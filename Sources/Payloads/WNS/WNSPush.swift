import PushModel

/// The push that WNS gets of a message: a toast, tile, badge or raw push.
struct WNSPush {
    let kind: NativePayload.Kind
    /// The one member that the push is made of; nil = it is made of several.
    let whole: String?

    init(_ message: Content.Message) {
        let members = message.members
        if let own = ["wns.raw", "wns.badge"].first(where: { members?[$0] != nil }) {
            (self.kind, self.whole) = (own == "wns.raw" ? .raw : .badge, own)
        } else if message.isSilent {
            // Data would be lost beside a badge.
            let isBadge = members?["badge"] != nil && message.data.isEmpty && members?["link"] == nil
            (self.kind, self.whole) = isBadge ? (.badge, "badge") : (.raw, nil)
        } else {
            (self.kind, self.whole) = (members?.isSet("wns.tile") == true ? .tile : .toast, nil)
        }
    }

    /// Why a member that has a place at WNS is dropped from this message; nil = it is not.
    @Sendable static func reasonToDrop(_ name: String, of message: Content.Message) -> String? {
        let push = Self(message)
        guard push.has(name) else {
            return "WNS takes one of toast, tile, badge and raw in a push, and this one is \(push.kind.name)"
        }
        let isReplaced = Self.texts(of: message).contains { $0.key == name && $0.given != nil }
        return isReplaced ? "WNS shows the text that is given beside the key" : nil
    }

    private func has(_ name: String) -> Bool {
        if ["wns.priority", "wns.ttl"].contains(name) { return true }
        if let whole = self.whole { return name == whole }
        return switch self.kind {
        case .tile: Self.ofTile.contains(name)
        case .toast: !["badge", "wns.tag"].contains(name)
        default: ["data", "link"].contains(name)
        }
    }

    private static let ofTile = [
        "title", "subtitle", "body", "titleLocKey", "subtitleLocKey", "bodyLocKey", "image", "wns.tile", "wns.tag",
    ]

    /// The texts in their order: each as given, or the app's own text, which Windows looks up by the key.
    static func texts(_ message: Content.Message) -> [String] {
        Self.texts(of: message).compactMap { text in
            text.given ?? message.members?.text(text.key).map { "ms-resource:\($0)" }
        }
    }

    private static func texts(of message: Content.Message) -> [(given: String?, key: String)] {
        [
            (message.title, "titleLocKey"), (message.members?.text("subtitle"), "subtitleLocKey"),
            (message.body, "bodyLocKey"),
        ]
    }
}
