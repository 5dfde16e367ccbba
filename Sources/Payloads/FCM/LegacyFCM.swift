package import PushModel

/// The payload of FCM's retired interface (`gcm`), as a message of the present one.
package enum LegacyFCM {
    /// The members of `notification` that the present interface has for Android, with their names there.
    private static let android = [
        "icon": "icon", "color": "color", "sound": "sound", "tag": "tag", "click_action": "click_action",
        "body_loc_key": "body_loc_key", "body_loc_args": "body_loc_args", "title_loc_key": "title_loc_key",
        "title_loc_args": "title_loc_args", "android_channel_id": "channel_id",
    ]
    /// Those that it has for all platforms.
    private static let general = ["title", "body", "image"]

    /// A message, and what of the payload is not in it.
    package struct Translation {
        package let message: JSONValue
        /// Members that were left out, by name.
        package fileprivate(set) var warnings: [InvalidValue] = []
    }

    /// - Parameter payload: Such as `{"data": {…}}` or `{"notification": {…}}`.
    /// - Returns: The message.
    /// - Throws: ``InvalidValue`` that names a member that has no counterpart.
    package static func translate(_ payload: JSONValue) throws(InvalidValue) -> Translation {
        guard case .object(let members) = payload else { throw InvalidValue(payload.mustBe("an object")) }
        var message: [JSONValue.Member] = []
        var android: [JSONValue.Member] = []
        var warnings: [InvalidValue] = []
        for member in members {
            switch member.name {
            case "data": message.append(.init("data", try Self.texts(member.value)))
            case "notification":
                let (general, own) = try Self.notification(member.value)
                message.append(.init("notification", .object(general)))
                if !own.isEmpty { android.append(.init("notification", .object(own))) }
            case "collapse_key": android.append(.init("collapse_key", member.value))
            case "priority": android.append(.init("priority", member.value))
            case "restricted_package_name": android.append(.init("restricted_package_name", member.value))
            case "time_to_live":
                guard case .number(let seconds) = member.value else {
                    throw InvalidValue(member: member.name, "must be a number of seconds")
                }
                android.append(.init("ttl", .string("\(seconds)s")))
            // Senders have one payload for both platforms, and the original's services read their own part of it.
            case "aps":
                warnings.append(InvalidValue(member: "aps", "is left out: FCM's devices are not Apple's"))
            default:
                throw InvalidValue(
                    member: String(member.name.prefix(40)),
                    "is not passed on: the format gcm stands for FCM's present interface; use fcmv1"
                )
            }
        }
        if !android.isEmpty { message.append(.init("android", .object(android))) }
        return Translation(message: .object(message), warnings: warnings)
    }

    /// The values of `data` as texts, as the present interface wants them.
    private static func texts(_ value: JSONValue) throws(InvalidValue) -> JSONValue {
        guard case .object(let members) = value else {
            throw InvalidValue(member: "data", value.mustBe("an object"))
        }
        return .object(
            members.map { member in
                if case .string = member.value { member } else { .init(member.name, .string(member.value.compactText)) }
            }
        )
    }

    private static func notification(
        _ value: JSONValue
    ) throws(InvalidValue) -> (general: [JSONValue.Member], android: [JSONValue.Member]) {
        guard case .object(let members) = value else {
            throw InvalidValue(member: "notification", value.mustBe("an object"))
        }
        var (general, android): ([JSONValue.Member], [JSONValue.Member]) = ([], [])
        for member in members {
            if Self.general.contains(member.name) {
                general.append(member)
            } else if let name = Self.android[member.name] {
                let isList = name.hasSuffix("_loc_args")
                android.append(.init(name, isList ? try Self.list(member) : member.value))
            } else {
                throw InvalidValue(member: "notification.\(member.name.prefix(40))", "is not passed on; use fcmv1")
            }
        }
        return (general, android)
    }

    /// The arguments of a localized text: the retired interface had them as a JSON array in a text.
    private static func list(_ member: JSONValue.Member) throws(InvalidValue) -> JSONValue {
        var value = member.value
        if case .string(let text) = value, let read = try? JSONReader.read(Array(text.utf8)) { value = read }
        guard case .array(let items) = value else {
            throw InvalidValue(
                member: "notification.\(member.name)",
                "must be an array, or a text with a JSON array in it"
            )
        }
        return .array(items.map { if case .string = $0 { $0 } else { .string($0.compactText) } })
    }
}
