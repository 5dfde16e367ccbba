import PushModel

/// Checks the part `apns` of an FCM message for everything that FCM, or Apple behind it, is known to refuse.
///
/// Everything else is accepted, such as other members of `aps`, and nulls.
enum FCMApplePart {
    /// The members of `aps` whose types are checked, with the types that each may have.
    private static let types: [(name: String, words: String, takes: @Sendable (JSONValue) -> Bool)] = [
        ("alert", "a string or an object", Self.isText), ("sound", "a string or an object", Self.isText),
        ("badge", "a number", Self.isNumber), ("content-available", "1", Self.isNumberOrFlag),
        ("mutable-content", "1", Self.isNumberOrFlag),
    ]

    private static let priorities = ["10", "5", "1"]

    /// The members of the part that have more to keep than FCM's names, for the API's description.
    static let schemas = ["headers": Self.headersSchema, "payload": Self.payloadSchema]

    private static let headersSchema = #"""
        {type: object, additionalProperties: {type: string}, properties: {apns-priority: {enum: [\#(Self.quoted(Self.priorities))]}, \#
        apns-push-type: {enum: [\#(APNsPushType.all.map(\.kind.name).joined(separator: ", "))]}, \#
        apns-expiration: {type: string, pattern: "^[0-9]{1,11}$"}, apns-collapse-id: {type: string, maxLength: 64}}}
        """#

    private static let payloadSchema = #"""
        {type: [object, "null"], required: [aps], properties: {aps: {type: object, minProperties: 1, properties: {\#
        alert: {type: [string, object, "null"]}, sound: {type: [string, object, "null"]}, badge: {type: [number, "null"]}, \#
        content-available: {type: [number, boolean, "null"]}, mutable-content: {type: [number, boolean, "null"]}}}}}
        """#

    private static func quoted(_ texts: [String]) -> String { texts.map { "\"\($0)\"" }.joined(separator: ", ") }

    /// Checks the part.
    ///
    /// - Parameters:
    ///   - part: Its members, each once.
    ///   - place: Its path.
    ///   - hasNotification: Whether the message has a notification for all platforms, which FCM makes an alert of.
    /// - Throws: ``InvalidValue`` that names the member.
    static func check(
        _ part: [JSONValue.Member],
        at place: String,
        hasNotification: Bool
    ) throws(InvalidValue) {
        var headers: [String: String] = [:]
        var aps: [JSONValue.Member] = []
        for member in part {
            let name = "\(place).\(member.name)"
            switch member.name {
            case "headers": headers = try Self.headers(member.value, at: name)
            case "payload" where member.value != .null: aps = try Self.aps(of: member.value, at: name)
            default: break
            }
        }
        let isBackground = headers["apns-push-type"] == "background" || !hasNotification && Self.isSilent(aps)
        if isBackground, headers["apns-priority"] == "10" {
            throw InvalidValue(
                member: "\(place).headers.apns-priority",
                "must not be 10: Apple refuses it for a message that shows nothing; use 5, or leave it out"
            )
        }
    }

    /// Whether the message wakes the app and shows nothing.
    private static func isSilent(_ aps: [JSONValue.Member]) -> Bool {
        aps.contains { $0.name == "content-available" && [.number("1"), .bool(true)].contains($0.value) }
            && !aps.contains { ["alert", "badge", "sound"].contains($0.name) }
    }

    /// The headers by their names in lower case.
    private static func headers(_ value: JSONValue, at place: String) throws(InvalidValue) -> [String: String] {
        try value.requireTexts(place)
        var headers: [String: String] = [:]
        for member in try value.uniqueMembers(place) {
            guard case .string(let text) = member.value else { continue }
            let name = member.name.lowercased()
            headers[name] = text
            if let words = Self.wordsOf(header: name, text) {
                throw InvalidValue(member: "\(place).\(member.name.prefix(40))", words)
            }
        }
        return headers
    }

    /// The error for the value of a header; nil = the value is right.
    private static func wordsOf(header name: String, _ value: String) -> String? {
        switch name {
        case "apns-priority":
            Self.priorities.contains(value) ? nil : "must be one of \(Self.priorities.joined(separator: ", "))"
        case "apns-push-type":
            APNsPushType.named(value) == nil
                ? "must be one of \(APNsPushType.all.map(\.kind.name).joined(separator: ", "))" : nil
        case "apns-expiration":
            HeaderList.isNumber(value, digits: 11) ? nil : "must be a time in seconds since 1970, or 0"
        case "apns-collapse-id":
            value.utf8.count <= PayloadFormatter.maximumCollapse
                ? nil : "must have at most \(PayloadFormatter.maximumCollapse) bytes"
        default: nil
        }
    }

    /// The members of `aps`, which every payload must have.
    private static func aps(of payload: JSONValue, at place: String) throws(InvalidValue) -> [JSONValue.Member] {
        let name = "\(place).aps"
        guard let value = try payload.uniqueMembers(place).first(where: { $0.name == "aps" })?.value else {
            throw InvalidValue(member: name, "is missing: FCM refuses a payload for Apple without it")
        }
        let aps = try value.uniqueMembers(name)
        guard !aps.isEmpty else { throw InvalidValue(member: name, "must have a member: FCM refuses an empty one") }
        for (member, words, takes) in Self.types {
            guard let value = aps.first(where: { $0.name == member })?.value, value != .null, !takes(value) else {
                continue
            }
            throw InvalidValue(member: "\(name).\(member)", "must be \(words), not \(value.kind)")
        }
        return aps
    }

    @Sendable private static func isText(_ value: JSONValue) -> Bool {
        switch value {
        case .string, .object: true
        default: false
        }
    }

    @Sendable private static func isNumber(_ value: JSONValue) -> Bool {
        if case .number = value { true } else { false }
    }

    /// Flags are not Apple's; whether FCM takes `true` for 1 is not known, so it may be.
    @Sendable private static func isNumberOrFlag(_ value: JSONValue) -> Bool {
        if case .bool = value { true } else { Self.isNumber(value) }
    }
}
