package import PushModel

extension ServiceFormat {
    static let apns = ServiceFormat(
        service: .apns,
        isJSON: true,
        reservedNames: "aps$",
        write: { content, _ throws(InvalidValue) in try APNsPayload.format(content) },
        headers: { $0.apns(topic: $1.apns?.topic) },
        form: .apns
    )
}

extension PushHeaders {
    /// The headers for APNs.
    ///
    /// - Parameter topic: The app's bundle id; nil = it has no credentials, and no topic.
    /// - Returns: The headers, with names in lower case.
    package func apns(topic: String?) -> [NativePayload.Header] {
        let type = APNsPushType.of(self.payload.kind)
        let priorities = type?.priorities ?? ["10", "5"]
        let usual = self.priority == .low && priorities.contains("5") ? "5" : priorities[0]
        // 0 = now or never.
        let expiration = self.keepUntil.map { $0 <= self.now ? "0" : "\($0.seconds)" }
        return Self.headers([
            ("apns-topic", topic.map { $0 + (type?.topicSuffix ?? "") }),
            ("apns-push-type", type?.kind.name ?? NativePayload.Kind.alert.name),
            ("apns-priority", self.payload.header("apns-priority") ?? usual),
            ("apns-expiration", self.payload.header("apns-expiration") ?? expiration),
            ("apns-collapse-id", self.payload.header("apns-collapse-id") ?? self.collapse),
            ("content-type", "application/json"),
        ])
    }
}
