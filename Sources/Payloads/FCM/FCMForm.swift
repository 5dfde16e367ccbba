import PushModel

extension NativeForm {
    static let fcm = NativeForm(
        member: "message",
        headers: [],
        schema: FCMForm.schema,
        keepUntil: KeepUntil.ofFCM,
        make: { message, _, _ throws(InvalidValue) in try FCMForm.read(message) }
    )
}

/// The sender's own form for FCM: a message of its HTTP v1 API.
enum FCMForm {
    /// The members of a message, both in the spelling of the API and in that of JSON.
    private static let members = ["data", "notification", "android", "webpush", "apns", "fcm_options", "fcmOptions"]
    private static let targets = ["token", "topic", "condition", "fid"]
    /// The most bytes of a whole message: FCM limits texts and data alone, and each push repeats the rest.
    private static let maximumSize = 16 << 10

    static let schema = #"""
        type: [object, "null"]
        additionalProperties: false
        required: [message]
        properties:
          message:
            description: >-
              A message of the HTTP v1 API without its target. Where `android` has no collapse_key, priority or ttl, it gets the send's.
              `notification` and `data` have 4,096 bytes at most, likewise those of `webpush` and the `payload` of `apns`, and the message
              16,384. `apns` has no live_activity_token; if it shows nothing (push type background, or content-available 1 alone), its
              apns-priority must not be 10.
            type: object
            additionalProperties: false
            minProperties: 1
            not: {required: [fcm_options, fcmOptions]}
            properties:
              data: \#(Self.dataSchema)
              notification: \#(FCMMembers.schema(of: "notification"))
              android: \#(FCMMembers.schema(of: "android", own: ["data": Self.dataSchema, "ttl": Self.ttlSchema]))
              apns: \#(FCMMembers.schema(of: "apns", own: FCMApplePart.schemas))
              webpush: \#(FCMMembers.schema(of: "webpush", own: ["headers": "{type: object, additionalProperties: {type: string}}"]))
              fcm_options: \#(FCMMembers.schema(of: "fcm_options"))
              fcmOptions: \#(FCMMembers.schema(of: "fcm_options"))
        """#

    private static let ttlSchema = #"{type: string, pattern: "^[0-9]{1,12}(\\.[0-9]{1,9})?s$"}"#
    private static let dataSchema =
        #"{type: object, propertyNames: {pattern: "^(?!\#(FCMPayload.reservedNames))"}, additionalProperties: {type: string}}"#

    static func read(_ message: JSONValue) throws(InvalidValue) -> NativePayload {
        let members = try message.uniqueFields("message")
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
            case "android", "apns", "webpush":
                let parts = try member.value.uniqueFields(name)
                for part in parts { try Self.check(part, of: member.name, at: "\(name).\(part.name.prefix(40))") }
                try FCMMembers.check(member.value, at: member.name)
                guard member.name == "apns" else { continue }
                let hasNotification = members.contains { $0.name == "notification" }
                try FCMApplePart.check(parts, at: name, hasNotification: hasNotification)
            case "notification": try FCMMembers.check(member.value, at: member.name)
            // In either spelling.
            default: try FCMMembers.check(member.value, at: "fcm_options")
            }
        }
        let bytes = message.bytes
        guard bytes.count <= Self.maximumSize else {
            throw InvalidValue(
                member: "message",
                "has \(bytes.count) bytes, \(bytes.count - Self.maximumSize) more than the \(Self.maximumSize) that a send takes"
            )
        }
        return NativePayload(kind: .message, body: bytes)
    }

    /// Checks a member of what is for one platform.
    private static func check(_ part: JSONValue.Member, of platform: String, at place: String) throws(InvalidValue) {
        switch (platform, part.name) {
        case ("android", "data"): try Self.check(data: part.value, at: place)
        case ("android", "ttl"):
            guard case .string(let text) = part.value, text.wholeMatch(of: /[0-9]{1,12}(\.[0-9]{1,9})?s/) != nil else {
                throw InvalidValue(member: place, "must be a number of seconds with an s, such as \"3600s\"")
            }
        case ("webpush", "headers"): try part.value.requireTexts(place)
        case ("apns", "live_activity_token"), ("apns", "liveActivityToken"):
            throw InvalidValue(member: place, "is Pushline's: the send says to whom it goes")
        default: break
        }
    }

    private static func check(data: JSONValue, at place: String) throws(InvalidValue) {
        for member in try data.uniqueMembers(place) {
            let name = "\(place).\(member.name.prefix(40))"
            guard case .string = member.value else {
                throw InvalidValue(member: name, member.value.mustBe("a string"))
            }
            guard !FCMPayload.isReserved(member.name) else { throw InvalidValue(member: name, FCMPayload.reserved) }
        }
    }
}
