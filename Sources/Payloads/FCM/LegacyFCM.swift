package import PushModel

/// The payload of FCM's retired interface (`gcm`), as a message of the present one.
package enum LegacyFCM {
    /// The members of `notification` that the present interface has for Android.
    private static let android = ["icon", "color", "sound", "tag", "click_action", "body_loc_key", "title_loc_key"]

    /// - Parameter payload: Such as `{"data": {…}}` or `{"notification": {…}}`.
    /// - Returns: The message.
    /// - Throws: ``InvalidValue`` that names a member that has no counterpart.
    package static func message(of payload: JSONValue) throws(InvalidValue) -> JSONValue {
        guard case .object(let members) = payload else { throw InvalidValue("must be an object, not \(payload.kind)") }
        var message: [JSONValue.Member] = []
        var android: [JSONValue.Member] = []
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
            default:
                throw InvalidValue(
                    member: String(member.name.prefix(40)),
                    "is not passed on: the format gcm stands for FCM's present interface; use fcmv1"
                )
            }
        }
        if !android.isEmpty { message.append(.init("android", .object(android))) }
        return .object(message)
    }

    /// The values of `data` as texts, as the present interface wants them.
    private static func texts(_ value: JSONValue) throws(InvalidValue) -> JSONValue {
        guard case .object(let members) = value else {
            throw InvalidValue(member: "data", "must be an object, not \(value.kind)")
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
            throw InvalidValue(member: "notification", "must be an object, not \(value.kind)")
        }
        var (general, android): ([JSONValue.Member], [JSONValue.Member]) = ([], [])
        for member in members {
            if ["title", "body"].contains(member.name) {
                general.append(member)
            } else if Self.android.contains(member.name) {
                android.append(member)
            } else {
                throw InvalidValue(member: "notification.\(member.name.prefix(40))", "is not passed on; use fcmv1")
            }
        }
        return (general, android)
    }
}
