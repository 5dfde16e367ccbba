import Crypto
package import PushModel

extension ServiceFormat {
    static let web = ServiceFormat(
        service: .web,
        isJSON: true,
        reservedNames: nil,
        write: { content, _ throws(InvalidValue) in try WebPushPayload.format(content) },
        reasonToDrop: { _, _ in nil },
        hasCollapse: true,
        headers: { headers, _ in headers.web() },
        form: .web
    )
}

extension PushHeaders {
    /// How long a push service keeps a message of which the send does not say it: four weeks, the longest that FCM has.
    private static let usualTimeToLive: Int64 = 2_419_200
    /// The longest that Apple and Mozilla have: 30 days.
    private static let longestTimeToLive: Int64 = 2_592_000

    /// The headers for Web Push.
    package func web() -> [NativePayload.Header] {
        let left = self.keepUntil.map { max(0, self.now.duration(to: $0).components.seconds) }
        let urgency: String? =
            switch self.priority {
            case .high: "high"
            case .normal: nil
            case .low: "low"
            }
        return Self.headers([
            ("Content-Type", "application/octet-stream"),
            ("Content-Encoding", "aes128gcm"),
            // A push without it is refused.
            (
                "TTL",
                self.payload.header("TTL") ?? "\(min(left ?? Self.usualTimeToLive, Self.longestTimeToLive))"
            ),
            ("Urgency", self.payload.header("Urgency") ?? urgency),
            ("Topic", self.payload.header("Topic") ?? self.collapse.map(Self.topic)),
        ])
    }

    /// A collapse key as a topic: always a digest of it, 32 characters of base64url.
    static func topic(of collapse: String) -> String {
        Base64URL.encode(SHA256.hash(data: Array(collapse.utf8)).prefix(24))
    }
}
