import PushModel

/// The members that FCM knows, where it refuses every other (HTTP v1: `Notification`, `AndroidConfig`, `ApnsConfig`, `WebpushConfig` …).
///
/// What is no such object is the platform's own affair: `data`, headers, `apns.payload`, `webpush.notification`.
enum FCMMembers {
    /// By the path of the object, in the spelling of the API.
    private static let known: [String: [String]] = [
        "notification": ["title", "body", "image"],
        "fcm_options": ["analytics_label"],
        "android": [
            "collapse_key", "priority", "ttl", "restricted_package_name", "data", "notification", "fcm_options",
            "direct_boot_ok", "bandwidth_constrained_ok", "restricted_satellite_ok",
        ],
        "android.fcm_options": ["analytics_label"],
        "android.notification": [
            "title", "body", "icon", "color", "sound", "tag", "click_action", "body_loc_key", "body_loc_args",
            "title_loc_key", "title_loc_args", "channel_id", "ticker", "sticky", "event_time", "local_only",
            "notification_priority", "default_sound", "default_vibrate_timings", "default_light_settings",
            "vibrate_timings", "visibility", "notification_count", "light_settings", "image",
            "bypass_proxy_notification", "proxy",
        ],
        "android.notification.light_settings": ["color", "light_on_duration", "light_off_duration"],
        "android.notification.light_settings.color": ["red", "green", "blue", "alpha"],
        "apns": ["headers", "payload", "fcm_options"],
        "apns.fcm_options": ["analytics_label", "image"],
        "webpush": ["headers", "data", "notification", "fcm_options"],
        "webpush.fcm_options": ["analytics_label", "link"],
    ]

    /// Checks an object, and the objects in it.
    ///
    /// - Parameters:
    ///   - value: The object; deeper ones may be null, which is as if they were not there.
    ///   - path: Its path in the message, such as `android.notification`.
    /// - Throws: ``InvalidValue`` that names a member that FCM does not know, or one given twice.
    static func check(_ value: JSONValue, at path: String) throws(InvalidValue) {
        guard let names = Self.known[path] else { return }
        for member in try value.uniqueFields("message.\(path)") {
            let name = Self.snake(member.name)
            guard names.contains(name) else {
                throw InvalidValue(
                    member: "message.\(path).\(member.name.prefix(40))",
                    Self.words(name, path: path, names)
                )
            }
            if member.value != .null { try Self.check(member.value, at: "\(path).\(name)") }
        }
    }

    /// An object and the objects in it, for the API's description: each member in one spelling or the other, not in both.
    ///
    /// - Parameters:
    ///   - path: The object's path in the message.
    ///   - own: The schemas of members that have more to keep than FCM's names.
    /// - Returns: The schema, as YAML on one line.
    static func schema(of path: String, own: [String: String] = [:]) -> String {
        let names = Self.known[path] ?? []
        let members = names.flatMap { name in
            let inner = "\(path).\(name)"
            let schema =
                own[name]
                ?? (Self.known[inner] == nil ? "{}" : "{oneOf: [{type: \"null\"}, \(Self.schema(of: inner))]}")
            return Self.spellings(of: name).map { "\($0): \(schema)" }
        }
        let twice = names.map(Self.spellings).filter { $0.count > 1 }.map {
            "{required: [\($0.joined(separator: ", "))]}"
        }
        let not = twice.isEmpty ? "" : ", not: {anyOf: [\(twice.joined(separator: ", "))]}"
        return "{type: object, additionalProperties: false\(not), properties: {\(members.joined(separator: ", "))}}"
    }

    /// What is wrong with a member, and where it may have been meant to be.
    private static func words(_ name: String, path: String, _ names: [String]) -> String {
        let words = "FCM knows no such member here"
        // The place with the shortest path: what is common to all platforms comes first.
        let elsewhere = Self.known.filter { $0.value.contains(name) }.keys.min {
            ($0.utf8.count, $0) < ($1.utf8.count, $1)
        }
        if let elsewhere { return "\(words); there is \(elsewhere).\(name)" }
        if let near = NearestWord.to(name, among: names) { return "\(words); did you mean \(near)?" }
        return "\(words); known are \(names.joined(separator: ", "))"
    }

    /// The API's spelling of a name in that of JSON.
    private static func snake(_ name: String) -> String {
        name.reduce(into: "") { $0 += $1.isASCII && $1.isUppercase ? "_\($1.lowercased())" : "\($1)" }
    }

    /// A name in the API's spelling and, if that is another, in JSON's.
    private static func spellings(of name: String) -> [String] {
        let parts = name.split(separator: "_")
        let camel = parts.dropFirst().reduce(parts.first.map(String.init) ?? "") {
            $0 + $1.prefix(1).uppercased() + $1.dropFirst()
        }
        return camel == name ? [name] : [name, camel]
    }
}
