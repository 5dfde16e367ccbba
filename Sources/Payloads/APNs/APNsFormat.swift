package import PushModel

extension ServiceFormat {
    static let apns = ServiceFormat(
        service: .apns,
        isJSON: true,
        reservedNames: "aps$",
        write: { content, _ throws(InvalidValue) in try APNsPayload.format(content) },
        reasonToDrop: APNsPayload.reasonToDrop,
        hasCollapse: true,
        headers: { $0.apns(topic: ($1 as? AppSpec.APNs)?.topic) },
        form: .apns
    )
}

extension PushHeaders {
    /// The headers for APNs.
    ///
    /// - Parameter topic: The app's bundle id; nil = it has no credentials, and no topic.
    /// - Returns: The headers, with names in lower case.
    package func apns(topic: String?) -> [NativePayload.Header] {
        if self.payload.kind == .broadcast { return self.broadcast }
        let type = APNsPushType.of(self.payload.kind)
        let priorities = type?.priorities ?? ["10", "5"]
        let usual = self.priority == .low && priorities.contains("5") ? "5" : priorities[0]
        return Self.headers([
            ("apns-topic", topic.map { $0 + (type?.topicSuffix ?? "") }),
            ("apns-push-type", type?.kind.name ?? NativePayload.Kind.alert.name),
            ("apns-priority", self.payload.header("apns-priority") ?? usual),
            ("apns-expiration", self.payload.header("apns-expiration") ?? self.expiration),
            ("apns-collapse-id", self.payload.header("apns-collapse-id") ?? self.collapse),
            ("content-type", "application/json"),
        ])
    }

    /// Those of a push to a channel, whose path has the bundle id.
    ///
    /// Apple requires an end, and takes 0 for each channel: one that stores nothing takes no other.
    private var broadcast: [NativePayload.Header] {
        Self.headers([
            ("apns-push-type", NativePayload.Kind.liveactivity.name),
            ("apns-priority", self.payload.header("apns-priority") ?? "10"),
            ("apns-expiration", self.expiration ?? "0"),
            ("content-type", "application/json"),
        ])
    }

    /// Until when APNs is to keep it, in seconds since 1970; 0 = now or never, nil = as long as it likes.
    private var expiration: String? { self.keepUntil.map { $0 <= self.now ? "0" : "\($0.seconds)" } }
}
