import Foundation

/// The fields of a request, with Google's types (reference of HTTP v1: `Message`, `AndroidConfig`, `ApnsConfig`, `WebpushConfig` …).
///
/// They are read as protocol buffers read JSON: a name in one of its two spellings, a null as if the field were not there, whole numbers and flags
/// also as texts, and names of enumerations in any case.
enum FCMFieldRules {
    /// A field that is unknown, or has another value than its type allows.
    struct Fault: Equatable {
        let message: String
        let field: String
    }

    private typealias Fields = [String: FieldType]

    private indirect enum FieldType {
        case text
        case texts
        case flag
        case number
        /// Any number.
        case decimal
        case colour
        case label
        /// An address, which must be https.
        case link
        /// Texts by name.
        case map
        /// JSON as the platform has it: Google passes it on.
        case object
        /// A duration in seconds, such as `3.5s`.
        case duration(atMost: Double)
        case durations
        /// A time of RFC 3339, with its zone.
        case time
        case oneOf([String])
        case message(Fields)
        /// A value that another type checks.
        case any

        /// What Google calls it.
        var name: String {
            switch self {
            case .text, .texts, .colour, .label, .link, .map: "TYPE_STRING"
            case .flag: "TYPE_BOOL"
            case .number: "TYPE_INT32"
            case .decimal: "TYPE_FLOAT"
            case .oneOf: "TYPE_ENUM"
            case .duration, .durations: "type.googleapis.com/google.protobuf.Duration"
            case .time: "type.googleapis.com/google.protobuf.Timestamp"
            case .any, .object, .message: "TYPE_MESSAGE"
            }
        }

        func takes(_ value: Any) -> Bool {
            switch self {
            case .text: value is String
            case .texts: value is [String]
            case .flag: FCMFieldRules.isFlag(value) || ["true", "false"].contains(value as? String)
            case .number:
                FCMFieldRules.isNumber(value) && value is Int || (value as? String).flatMap { Int32($0) } != nil
            case .decimal: FCMFieldRules.isNumber(value) || (value as? String).flatMap { Double($0) } != nil
            case .colour: (value as? String)?.wholeMatch(of: /#[0-9A-Fa-f]{6}/) != nil
            case .label: (value as? String)?.wholeMatch(of: /[A-Za-z0-9_.~%-]{1,50}/) != nil
            case .link: (value as? String)?.lowercased().hasPrefix("https://") == true
            case .map: value is [String: String]
            case .object, .message: value is [String: Any]
            case .duration(let most): FCMFieldRules.seconds(value).map { $0 <= most } ?? false
            case .durations: (value as? [Any])?.allSatisfy { FCMFieldRules.seconds($0) != nil } ?? false
            case .time: (value as? String).map(FCMFieldRules.isMoment) ?? false
            case .oneOf(let names): FCMFieldRules.isName(value, of: names)
            case .any: true
            }
        }
    }

    // MARK: The fields

    private static let root: Fields = ["message": .message(Self.message), "validate_only": .flag]

    private static let message: Fields = [
        // Google's field for answers; it is ignored in requests.
        "name": .text,
        "data": .any, "notification": .message(["title": .text, "body": .text, "image": .text]),
        "android": .message(Self.android), "apns": .message(Self.apns), "webpush": .message(Self.webpush),
        "fcm_options": .message(Self.options), "token": .text, "topic": .text, "condition": .text, "fid": .text,
    ]

    private static let options: Fields = ["analytics_label": .label]

    private static let android: Fields = [
        "collapse_key": .text, "priority": .oneOf(["NORMAL", "HIGH"]), "ttl": .duration(atMost: 2_419_200),
        "restricted_package_name": .text, "data": .any, "notification": .message(Self.androidNotification),
        "fcm_options": .message(Self.options), "direct_boot_ok": .flag, "bandwidth_constrained_ok": .flag,
        "restricted_satellite_ok": .flag,
    ]

    private static let androidNotification: Fields = [
        "title": .text, "body": .text, "icon": .text, "color": .colour, "sound": .text, "tag": .text,
        "click_action": .text,
        "body_loc_key": .text, "body_loc_args": .texts, "title_loc_key": .text, "title_loc_args": .texts,
        "channel_id": .text, "ticker": .text, "sticky": .flag, "event_time": .time, "local_only": .flag,
        "notification_priority": .oneOf(
            ["MIN", "LOW", "DEFAULT", "HIGH", "MAX"].map { "PRIORITY_\($0)" } + ["PRIORITY_UNSPECIFIED"]
        ),
        "default_sound": .flag, "default_vibrate_timings": .flag, "default_light_settings": .flag,
        "vibrate_timings": .durations,
        "visibility": .oneOf(["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"]), "notification_count": .number,
        "light_settings": .message(Self.light), "image": .text, "bypass_proxy_notification": .flag,
        "proxy": .oneOf(["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"]),
    ]

    private static let light: Fields = [
        "color": .message(["red": .decimal, "green": .decimal, "blue": .decimal, "alpha": .decimal]),
        "light_on_duration": .duration(atMost: .infinity), "light_off_duration": .duration(atMost: .infinity),
    ]

    private static let apns: Fields = [
        "headers": .map, "payload": .object, "live_activity_token": .text,
        "fcm_options": .message(["analytics_label": .label, "image": .text]),
    ]

    private static let webpush: Fields = [
        "headers": .map, "data": .map, "notification": .object,
        "fcm_options": .message(["analytics_label": .label, "link": .link]),
    ]

    // MARK: The checks

    /// Checks names and types.
    ///
    /// - Parameter request: The whole JSON.
    /// - Returns: The first fault.
    static func fault(in request: [String: Any]) -> Fault? { Self.fault(request, Self.root, at: "") }

    private static func fault(_ value: Any, _ fields: Fields, at place: String) -> Fault? {
        guard let object = value as? [String: Any] else {
            return Fault(message: "Invalid value at '\(place)'", field: place)
        }
        for (name, value) in object.sorted(by: { $0.key < $1.key }) {
            let field = fields[name] == nil ? Self.snake(name) : name
            guard let type = fields[field] else {
                return Fault(
                    message:
                        "Invalid JSON payload received. Unknown name \"\(name)\" at '\(place)': Cannot find field.",
                    field: place
                )
            }
            guard field == name || object[field] == nil else {
                return Fault(message: "Invalid JSON payload received. Repeated field \"\(field)\"", field: place)
            }
            if value is NSNull { continue }
            if case .message(let fields) = type {
                if let fault = Self.fault(value, fields, at: Self.path(place, field)) { return fault }
            } else if !type.takes(value) {
                let path = Self.path(place, field)
                return Fault(message: "Invalid value at '\(path)' (\(type.name))", field: path)
            }
        }
        return nil
    }

    private static func path(_ place: String, _ field: String) -> String {
        place.isEmpty ? field : "\(place).\(field)"
    }

    /// The API's spelling of a name in that of JSON.
    private static func snake(_ name: String) -> String {
        name.reduce(into: "") { $0 += $1.isUppercase ? "_\($1.lowercased())" : "\($1)" }
    }

    private static let flagType = ObjectIdentifier(type(of: NSNumber(value: true)))

    /// Whether it is `true` or `false`: to Foundation, 1 and 0 are so too.
    static func isFlag(_ value: Any) -> Bool { ObjectIdentifier(type(of: value)) == Self.flagType }

    /// Whether it is a number: to Foundation, `true` and `false` are so too.
    static func isNumber(_ value: Any) -> Bool { value is NSNumber && !Self.isFlag(value) }

    /// A duration such as `3.5s`; nil for any other text.
    private static func seconds(_ value: Any) -> Double? {
        guard let text = value as? String, text.hasSuffix("s"),
            text.utf8.dropLast().allSatisfy({ $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) })
        else { return nil }
        return Double(text.dropLast())
    }

    /// Whether a value is a time of RFC 3339.
    private static func isMoment(_ text: String) -> Bool {
        let pattern = /[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})/
        return text.wholeMatch(of: pattern) != nil
    }

    private static func isName(_ value: Any, of names: [String]) -> Bool {
        guard let text = value as? String else { return Self.isNumber(value) && value is Int }
        return names.contains(text.uppercased().replacing("-", with: "_"))
    }
}
