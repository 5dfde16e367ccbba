import Foundation

/// Checks the part `apns` of a message as FCM does, and as Apple checks the notification that FCM makes of it.
///
/// The error texts about `aps` are Google's own. Everything that neither of the two is known to refuse is accepted, such as other
/// members of `aps`, and nulls.
enum FCMAppleRules {
    private static let payload = "message.apns.payload"
    private static let headers = "message.apns.headers"

    /// The members of `aps` whose types are checked: texts and dictionaries, and numbers.
    private static let texts = ["alert", "sound"]
    /// Flags are not Apple's; whether FCM takes `true` for 1 is not known, so it may be.
    private static let numbers: [(name: String, takesFlags: Bool)] = [
        ("badge", false), ("content-available", true), ("mutable-content", true),
    ]

    /// Checks the part; the types of its fields were checked before.
    ///
    /// - Parameters:
    ///   - apns: The part.
    ///   - hasNotification: Whether the message has a notification for all platforms, which FCM makes an alert of.
    /// - Returns: The first fault.
    static func fault(in apns: [String: Any], hasNotification: Bool) -> FCMFieldRules.Fault? {
        var headers: [String: String] = [:]
        for (name, value) in apns["headers"] as? [String: String] ?? [:] { headers[name.lowercased()] = value }
        if let fault = Self.fault(ofHeaders: headers) { return fault }
        let payload = apns["payload"] as? [String: Any]
        if let payload, let fault = Self.fault(ofPayload: payload) { return fault }
        let aps = payload?["aps"] as? [String: Any] ?? [:]
        let isBackground = headers["apns-push-type"] == "background" || !hasNotification && Self.isSilent(aps)
        guard isBackground, headers["apns-priority"] == "10" else { return nil }
        return .init(
            message: "Invalid value of [apns-priority]: a background message has normal priority, 5.",
            field: Self.headers
        )
    }

    /// Whether the message wakes the app and shows nothing.
    private static func isSilent(_ aps: [String: Any]) -> Bool {
        (aps["content-available"] as? NSNumber)?.intValue == 1
            && ["alert", "badge", "sound"].allSatisfy { aps[$0] == nil }
    }

    private static func fault(ofHeaders headers: [String: String]) -> FCMFieldRules.Fault? {
        for (name, value) in headers {
            let isRight =
                switch name {
                case "apns-priority": ["1", "5", "10"].contains(value)
                case "apns-push-type": APNsRules.suffixes[value] != nil
                case "apns-expiration": APNsRules.isTime(value)
                case "apns-collapse-id": value.utf8.count <= 64
                default: true
                }
            if !isRight {
                return .init(message: "Invalid value of [\(name)]: \(value.prefix(40))", field: Self.headers)
            }
        }
        return nil
    }

    private static func fault(ofPayload payload: [String: Any]) -> FCMFieldRules.Fault? {
        guard let value = payload["aps"] else {
            return .init(
                message: "Payload of Apple Push Notification Service must contain an [aps] key.",
                field: Self.payload
            )
        }
        guard let aps = value as? [String: Any], !aps.isEmpty else {
            return .init(message: "Value of [aps] must be a non-empty dictionary.", field: Self.payload)
        }
        for name in Self.texts {
            if let value = Self.given(name, in: aps), !(value is String), !(value is [String: Any]) {
                return .init(message: "Value of [\(name)] must be a string or a dictionary.", field: Self.payload)
            }
        }
        for (name, takesFlags) in Self.numbers {
            guard let value = Self.given(name, in: aps) else { continue }
            if !FCMFieldRules.isNumber(value), !(takesFlags && FCMFieldRules.isFlag(value)) {
                return .init(message: "Value of [\(name)] must be a number.", field: Self.payload)
            }
        }
        return nil
    }

    private static func given(_ name: String, in aps: [String: Any]) -> Any? {
        aps[name].flatMap { $0 is NSNull ? nil : $0 }
    }
}
