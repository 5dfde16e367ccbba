import PushModel

/// What APNs asks of the notifications of one push type.
struct APNsPushType: Sendable {
    /// Its name is the value of the header `apns-push-type`.
    let kind: NativePayload.Kind
    /// What the topic has behind the app's bundle id.
    let topicSuffix: String
    /// The values of `apns-priority` that it may have, the default first.
    let priorities: [String]
    /// Whether a payload has a dictionary `aps`; the older types of PushKit, and MDM, do without.
    let needsAPS: Bool

    private init(
        _ kind: NativePayload.Kind,
        suffix: String = "",
        priorities: [String] = ["10", "5", "1"],
        needsAPS: Bool = true
    ) {
        self.kind = kind
        self.topicSuffix = suffix
        self.priorities = priorities
        self.needsAPS = needsAPS
    }

    /// All types.
    static let all = [
        APNsPushType(.alert),
        APNsPushType(.background, priorities: ["5"]),
        APNsPushType(.voip, suffix: ".voip", needsAPS: false),
        APNsPushType(.complication, suffix: ".complication", needsAPS: false),
        APNsPushType(.fileprovider, suffix: ".pushkit.fileprovider", needsAPS: false),
        // Its topic is that of the MDM certificate, which the app's declaration then names.
        APNsPushType(.mdm, needsAPS: false),
        APNsPushType(.location, suffix: ".location-query", priorities: ["10", "5"]),
        APNsPushType(.liveactivity, suffix: ".push-type.liveactivity", priorities: ["10", "5"]),
        APNsPushType(.pushtotalk, suffix: ".voip-ptt"),
        APNsPushType(.controls, suffix: ".push-type.controls"),
        APNsPushType(.widgets, suffix: ".push-type.widgets"),
    ]

    private static let byKind = Dictionary(uniqueKeysWithValues: Self.all.map { ($0.kind, $0) })

    /// The type of a payload; nil for one of another service.
    static func of(_ kind: NativePayload.Kind) -> APNsPushType? { Self.byKind[kind] }

    /// The type of that name.
    static func named(_ name: String) -> APNsPushType? { Self.all.first { $0.kind.name == name } }
}
