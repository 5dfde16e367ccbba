package import PushModel

extension ServiceFormat {
    static let wns = ServiceFormat(
        service: .wns,
        isJSON: false,
        reservedNames: nil,
        write: { content, _ throws(InvalidValue) in try WNSPayload.format(content) },
        reasonToDrop: WNSPush.reasonToDrop,
        hasCollapse: false,
        headers: { headers, _ in headers.wns() },
        form: .wns
    )
}

extension PushHeaders {
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
            ("X-WNS-Type", "wns/\(self.payload.kind.name)"),
            ("X-WNS-PRIORITY", self.payload.header("X-WNS-PRIORITY") ?? priority),
            ("X-WNS-TTL", self.payload.header("X-WNS-TTL") ?? timeToLive),
            ("X-WNS-Cache-Policy", self.payload.header("X-WNS-Cache-Policy") ?? policy),
            ("X-WNS-Tag", self.payload.header("X-WNS-Tag")),
            ("X-WNS-RequestForStatus", self.payload.header("X-WNS-RequestForStatus")),
        ])
    }
}
