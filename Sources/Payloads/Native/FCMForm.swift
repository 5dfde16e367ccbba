import PushModel

/// The sender's own form for FCM: a message of its HTTP v1 API.
enum FCMForm {
    /// The members of a message, both in the spelling of the API and in that of JSON.
    private static let members = ["data", "notification", "android", "webpush", "apns", "fcm_options", "fcmOptions"]
    private static let targets = ["token", "topic", "condition", "fid"]

    static func read(_ message: JSONValue) throws(InvalidValue) -> NativePayload {
        let members = try message.uniqueMembers("message")
        guard !members.isEmpty else {
            throw InvalidValue(member: "message", "must have one of \(Self.members.joined(separator: ", "))")
        }
        for member in members where !Self.members.contains(member.name) {
            let reason =
                Self.targets.contains(member.name)
                ? "is Pushline's: the send says to whom it goes"
                : "no such member; known are \(Self.members.joined(separator: ", "))"
            throw InvalidValue(member: "message.\(member.name.prefix(40))", reason)
        }
        for member in members {
            let name = "message.\(member.name)"
            switch member.name {
            case "data": try Self.check(data: member.value, at: name)
            case "android":
                for part in try member.value.uniqueMembers(name) {
                    if part.name == "data" { try Self.check(data: part.value, at: name + ".data") }
                    if part.name == "notification" { _ = try part.value.uniqueMembers(name + ".notification") }
                }
            default: _ = try member.value.uniqueMembers(name)
            }
        }
        return NativePayload(kind: .message, body: message.bytes)
    }

    private static func check(data: JSONValue, at place: String) throws(InvalidValue) {
        for member in try data.uniqueMembers(place) {
            let name = "\(place).\(member.name.prefix(40))"
            guard case .string = member.value else {
                throw InvalidValue(member: name, "must be a string, not \(member.value.kind)")
            }
            guard !FCMPayload.isReserved(member.name) else { throw InvalidValue(member: name, FCMPayload.reserved) }
        }
    }
}
