import Foundation

/// The fields of a message's parts, with Google's types (reference of HTTP v1: `Notification`, `AndroidNotification`, `ApnsConfig`,
/// `WebpushConfig`, `FcmOptions`).
enum FCMFieldRules {
    /// A field that is unknown, or has another value than its type allows.
    struct Fault: Equatable {
        let message: String
        let field: String
    }

    private enum FieldType {
        case text
        case texts
        case flag
        case number
        case colour
        case label
        /// An address, which must be https.
        case link
        /// Texts by name.
        case map
        /// JSON as the platform has it: Google passes it on.
        case object
        case oneOf([String])
        case any

        /// What Google calls it.
        var name: String {
            switch self {
            case .text, .texts, .colour, .label, .link, .map: "TYPE_STRING"
            case .flag: "TYPE_BOOL"
            case .number: "TYPE_INT32"
            case .oneOf: "TYPE_ENUM"
            case .any, .object: "TYPE_MESSAGE"
            }
        }

        func takes(_ value: Any) -> Bool {
            switch self {
            case .text: value is String
            case .texts: value is [String]
            case .flag: value is Bool
            case .number: value is Int
            case .colour: (value as? String)?.wholeMatch(of: /#[0-9A-Fa-f]{6}/) != nil
            case .label: (value as? String)?.wholeMatch(of: /[A-Za-z0-9_.~%-]{1,50}/) != nil
            case .link: (value as? String)?.lowercased().hasPrefix("https://") == true
            case .map: value is [String: String]
            case .object: value is [String: Any]
            case .oneOf(let names): (value as? String).map(names.contains) ?? false
            case .any: true
            }
        }
    }

    private static let notification: [String: FieldType] = ["title": .text, "body": .text, "image": .text]
    private static let options: [String: FieldType] = ["analytics_label": .label]
    private static let android: [String: FieldType] = [
        "title": .text, "body": .text, "icon": .text, "color": .colour, "sound": .text, "tag": .text,
        "click_action": .text,
        "body_loc_key": .text, "body_loc_args": .texts, "title_loc_key": .text, "title_loc_args": .texts,
        "channel_id": .text,
        "ticker": .text, "sticky": .flag, "event_time": .text, "local_only": .flag,
        "notification_priority": .oneOf(
            ["MIN", "LOW", "DEFAULT", "HIGH", "MAX"].map { "PRIORITY_\($0)" } + ["PRIORITY_UNSPECIFIED"]
        ),
        "default_sound": .flag, "default_vibrate_timings": .flag, "default_light_settings": .flag,
        "vibrate_timings": .texts,
        "visibility": .oneOf(["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"]), "notification_count": .number,
        "light_settings": .any, "image": .text, "bypass_proxy_notification": .flag, "proxy": .any,
    ]

    private static let apns: [String: FieldType] = [
        "headers": .map, "payload": .object, "fcm_options": .object, "live_activity_token": .text,
    ]
    private static let apnsOptions: [String: FieldType] = ["analytics_label": .label, "image": .text]
    private static let webpush: [String: FieldType] = [
        "headers": .map, "data": .map, "notification": .object, "fcm_options": .object,
    ]
    private static let webpushOptions: [String: FieldType] = ["analytics_label": .label, "link": .link]

    /// Checks the parts of a message.
    ///
    /// - Parameter message: The message.
    /// - Returns: The first fault.
    static func fault(in message: [String: Any]) -> Fault? {
        let android = message["android"] as? [String: Any]
        func options(of platform: String) -> Any? {
            let part = message[platform] as? [String: Any]
            return part?["fcm_options"] ?? part?["fcmOptions"]
        }
        let parts: [(value: Any?, fields: [String: FieldType], place: String)] = [
            (message["notification"], Self.notification, "message.notification"),
            (message["fcm_options"] ?? message["fcmOptions"], Self.options, "message.fcm_options"),
            (android?["notification"], Self.android, "message.android.notification"),
            (options(of: "android"), Self.options, "message.android.fcm_options"),
            (android?["direct_boot_ok"].map { ["direct_boot_ok": $0] }, ["direct_boot_ok": .flag], "message.android"),
            (message["apns"], Self.apns, "message.apns"),
            (options(of: "apns"), Self.apnsOptions, "message.apns.fcm_options"),
            (message["webpush"], Self.webpush, "message.webpush"),
            (options(of: "webpush"), Self.webpushOptions, "message.webpush.fcm_options"),
        ]
        return parts.lazy.compactMap { part in part.value.flatMap { Self.fault($0, part.fields, at: part.place) } }
            .first
    }

    private static func fault(_ value: Any, _ fields: [String: FieldType], at place: String) -> Fault? {
        guard let object = value as? [String: Any] else {
            return Fault(message: "Invalid value at '\(place)'", field: place)
        }
        for (name, value) in object.sorted(by: { $0.key < $1.key }) {
            guard let type = fields[name] ?? fields[Self.snake(name)] else {
                return Fault(
                    message:
                        "Invalid JSON payload received. Unknown name \"\(name)\" at '\(place)': Cannot find field.",
                    field: place
                )
            }
            guard type.takes(value) else {
                return Fault(message: "Invalid value at '\(place).\(name)' (\(type.name))", field: "\(place).\(name)")
            }
        }
        return nil
    }

    /// The API's spelling of a name in that of JSON.
    private static func snake(_ name: String) -> String {
        name.reduce(into: "") { $0 += $1.isUppercase ? "_\($1.lowercased())" : "\($1)" }
    }
}
