package import PushModel

/// The headers of a notification, but for the credentials and the device's own: the same for a push and for its preview.
///
/// What the sender's own form says goes before the send's options.
package struct PushHeaders: Sendable {
    private let payload: NativePayload
    private let priority: Priority
    private let keepUntil: Timestamp?
    private let collapse: String?
    private let now: Timestamp

    /// - Parameters:
    ///   - payload: The payload.
    ///   - priority: The send's priority.
    ///   - keepUntil: As in `DeliverBatch.keepUntil`.
    ///   - collapse: The send's collapse key.
    ///   - now: When it goes out.
    package init(
        _ payload: NativePayload,
        priority: Priority,
        keepUntil: Timestamp?,
        collapse: String?,
        now: Timestamp = .now
    ) {
        self.payload = payload
        self.priority = priority
        self.keepUntil = keepUntil
        self.collapse = collapse
        self.now = now
    }

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
            ("apns-push-type", type?.kind.rawValue ?? NativePayload.Kind.alert.rawValue),
            ("apns-priority", self.payload.header("apns-priority") ?? usual),
            ("apns-expiration", self.payload.header("apns-expiration") ?? expiration),
            ("apns-collapse-id", self.payload.header("apns-collapse-id") ?? self.collapse),
            ("content-type", "application/json"),
        ])
    }

    /// The headers for FCM; the send's options are in its payload.
    package static let fcm = [NativePayload.Header("content-type", "application/json")]

    /// The headers for WNS.
    package func wns() -> [NativePayload.Header] {
        let isRaw = self.payload.kind == .raw
        let left = self.keepUntil.map { self.now.duration(to: $0).components.seconds }
        let priority: String? =
            switch self.priority {
            case .high: "1"
            case .normal: nil
            case .low: "3"
            }
        let timeToLive = left.flatMap { $0 > 0 ? "\($0)" : nil }
        let policy = left.map { $0 > 0 ? "cache" : "no-cache" }
        return Self.headers([
            ("Content-Type", isRaw ? "application/octet-stream" : "text/xml"),
            ("X-WNS-Type", "wns/\(self.payload.kind.rawValue)"),
            ("X-WNS-PRIORITY", self.payload.header("X-WNS-PRIORITY") ?? priority),
            ("X-WNS-TTL", self.payload.header("X-WNS-TTL") ?? timeToLive),
            ("X-WNS-Cache-Policy", self.payload.header("X-WNS-Cache-Policy") ?? policy),
            ("X-WNS-Tag", self.payload.header("X-WNS-Tag")),
            ("X-WNS-RequestForStatus", self.payload.header("X-WNS-RequestForStatus")),
        ])
    }

    /// Those that have a value.
    private static func headers(_ values: [(name: String, value: String?)]) -> [NativePayload.Header] {
        values.compactMap { name, value in value.map { NativePayload.Header(name, $0) } }
    }
}
