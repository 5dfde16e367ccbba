import PushModel

extension NativeForm {
    static let apns = NativeForm(
        member: "payload",
        headers: APNsForm.headers,
        schema: APNsForm.schema,
        keepUntil: KeepUntil.moment("apns-expiration"),
        make: { payload, headers, app throws(InvalidValue) in
            try APNsForm.read(payload, headers: headers, topics: app.credentials.all(AppSpec.APNs.self).map(\.topic))
        }
    )
}

/// The sender's own form for APNs.
enum APNsForm {
    /// The headers that a send may set; `apns-id` is ours (rule 10).
    static let headers = ["apns-push-type", "apns-topic", "apns-priority", "apns-expiration", "apns-collapse-id"]

    static let schema = #"""
        type: [object, "null"]
        additionalProperties: false
        required: [payload]
        allOf:
          \#(Self.rules.joined(separator: "\n  "))
        properties:
          payload:
            description: >-
              The JSON body, with an object `aps` but for voip, complication, fileprovider and mdm; at most 4,096 bytes, 5,120 for voip. For
              liveactivity `aps` is that of ActivityKit, with `timestamp` and `event`.
            type: object
            minProperties: 1
          headers:
            type: [object, "null"]
            additionalProperties: false
            properties:
              apns-push-type:
                description: Left out = background for content-available 1 without alert, badge and sound, else alert.
                enum: [\#(APNsPushType.all.map(\.kind.name).joined(separator: ", "))]
              apns-topic:
                description: The app's bundle id with the suffix of the push type; another is refused, and it can be left out.
                type: string
                minLength: 1
                pattern: "^[!-~]([ -~]*[!-~])?$"
              apns-priority:
                description: background has 5 alone; liveactivity and location have 10 and 5.
                enum: ["10", "5", "1"]
              apns-expiration: {type: string, pattern: "^[0-9]{1,11}$"}
              apns-collapse-id: {type: string, minLength: 1, maxLength: 64, pattern: "^[!-~]([ -~]*[!-~])?$"}
        """#

    /// What a push type asks of payload and priority, a schema each.
    private static var rules: [String] {
        func unless(_ types: [APNsPushType], _ schema: String) -> String {
            let others = APNsPushType.all.filter { type in !types.contains { $0.kind == type.kind } }
            let names = others.map(\.kind.name).joined(separator: ", ")
            return "- {anyOf: [{properties: {headers: {properties: {apns-push-type: {enum: [\(names)]}}}}}, \(schema)]}"
        }
        let plain = APNsPushType.all.filter { !$0.needsAPS }.map(\.kind.name).joined(separator: ", ")
        let isPlain =
            "{required: [headers], properties: {headers: {type: object, required: [apns-push-type], "
            + "properties: {apns-push-type: {enum: [\(plain)]}}}}}"
        let priorities = APNsPushType.all.filter { $0.priorities.count < 3 }.map { type in
            let numbers = type.priorities.map { "\"\($0)\"" }.joined(separator: ", ")
            return unless([type], "{properties: {headers: {properties: {apns-priority: {enum: [\(numbers)]}}}}}")
        }
        let activity = APNsPushType.all.filter { $0.kind == .liveactivity }
        return [
            "- {anyOf: [\(isPlain), {properties: {payload: {required: [aps], properties: {aps: {type: object}}}}}]}",
            unless(activity, "{properties: {payload: {properties: {aps: \(APNsLiveActivity.schema)}}}}"),
        ] + priorities
    }

    static func read(
        _ payload: JSONValue,
        headers given: HeaderList,
        topics: [String]
    ) throws(InvalidValue) -> NativePayload {
        var headers = given
        let type = try Self.type(headers.take("apns-push-type") ?? Self.usualType(of: payload).name)
        if let wanted = headers.take("apns-topic") { try Self.check(topic: wanted, of: type, bundles: topics) }
        try headers.require("apns-priority", oneOf: type.priorities)
        // Eleven digits end in the year 5138: more is milliseconds by mistake.
        try headers.require("apns-expiration", "must be a time in seconds since 1970, or 0") {
            HeaderList.isNumber($0, digits: 11)
        }
        try headers.require("apns-collapse-id", "must have at most \(PayloadFormatter.maximumCollapse) bytes") {
            $0.utf8.count <= PayloadFormatter.maximumCollapse
        }
        let members = try payload.uniqueMembers("payload")
        if type.needsAPS {
            guard let aps = members.first(where: { $0.name == "aps" })?.value, case .object = aps else {
                throw InvalidValue(
                    member: "payload.aps",
                    "must be an object: the push type \(type.kind.name) needs one"
                )
            }
            if type.kind == .liveactivity {
                let members = try aps.uniqueMembers("payload.aps")
                do { try APNsLiveActivity.check(members) } catch { throw error.named("payload.aps") }
            }
        } else if members.isEmpty {
            throw InvalidValue(member: "payload", "must have a member")
        }
        return NativePayload(kind: type.kind, headers: headers.headers, body: payload.bytes)
    }

    /// What wakes the app and shows nothing is `background`: APNs wants to be told so.
    static func usualType(of payload: JSONValue) -> NativePayload.Kind {
        guard case .object(let members) = payload,
            case .object(let aps)? = members.first(where: { $0.name == "aps" })?.value,
            aps.contains(where: { $0.name == "content-available" && $0.value == .number("1") }),
            !aps.contains(where: { ["alert", "badge", "sound"].contains($0.name) })
        else { return .alert }
        return .background
    }

    private static func type(_ name: String) throws(InvalidValue) -> APNsPushType {
        guard let type = APNsPushType.named(name) else {
            let names = APNsPushType.all.map(\.kind.name).joined(separator: ", ")
            throw InvalidValue(member: "headers.apns-push-type", "must be one of \(names)")
        }
        return type
    }

    /// The topic is that of the credential of each device; a send may state one of the app's and cannot choose another.
    private static func check(topic: String, of type: APNsPushType, bundles: [String]) throws(InvalidValue) {
        let own = bundles.map { $0 + type.topicSuffix }
        guard !own.contains(topic) else { return }
        throw InvalidValue(
            member: "headers.apns-topic",
            own.isEmpty
                ? "the app has no APNs credentials, and so no topic; leave it out"
                : "is \(own.joined(separator: " or ")) for this app and push type; it can be left out"
        )
    }
}
