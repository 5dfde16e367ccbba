/// A platform's push notification service.
package enum PushService: String, CaseIterable, Codable, Hashable, Sendable, Comparable {
    /// Apple Push Notification service.
    case apns
    /// Firebase Cloud Messaging, HTTP v1. Older apps say `gcm`, which means the same here.
    case fcm
    /// Windows Push Notification Services.
    case wns
    /// Microsoft's service for Windows Phone, switched off in 2018: it can be registered, never sent to.
    case mpns

    /// Reads a platform name as apps write it: any letter case, `gcm` for ``fcm``.
    ///
    /// - Returns: nil when no service has that name.
    package init?(platformName: String) {
        switch platformName.lowercased() {
        case "gcm": self = .fcm
        case let name: self.init(rawValue: name)
        }
    }

    /// Whether the service still takes notifications.
    package var isInService: Bool { self != .mpns }

    /// By its case: Swift's own way for a raw value hashes the text.
    package func hash(into hasher: inout Hasher) {
        switch self {
        case .apns: hasher.combine(0)
        case .fcm: hasher.combine(1)
        case .wns: hasher.combine(2)
        case .mpns: hasher.combine(3)
        }
    }

    package static func < (lhs: PushService, rhs: PushService) -> Bool { lhs.rawValue < rhs.rawValue }
}
