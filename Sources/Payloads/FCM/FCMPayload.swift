import PushModel

/// The `message` object for FCM HTTP v1, without its target.
///
/// Never an empty object: the sender puts a member in front.
enum FCMPayload {
    /// The longest time that FCM keeps a message, in seconds: 28 days.
    ///
    /// A longer one is cut, for FCM would refuse the message.
    static let longestTimeToLive: Int64 = 2_419_200

    static func format(
        _ content: Content,
        options: PayloadFormatter.Options
    ) throws(InvalidValue) -> PayloadFormatter.Measured {
        let parts: [JSONValue.Member]
        var message: Content.Message?
        switch content {
        case .message(let own):
            (parts, message) = (try Self.parts(of: own), own)
        case .classic(let sender, let text):
            parts = [.init("data", .object([.init("message", .string(ClassicText.shown(sender: sender, text: text)))]))]
        case .rich(let rich):
            parts = [.init("data", .object(RichReference.members(rich).map { .init($0.name, .string($0.text)) }))]
        case .template: throw InvalidValue("a template makes the payload of each device")
        case .native(let native):
            if let form = native[.fcm] { return try Self.native(form, options: options) }
            let own = try native.message(for: .fcm)
            (parts, message) = (try Self.parts(of: own), own)
        }
        let android = Self.android(options)
        let plain = JSONValue.object(parts + (android.isEmpty ? [] : [.init("android", .object(android))]))
        let whole = message?.adding(to: plain, at: .fcm) ?? plain
        return PayloadFormatter.Measured(NativePayload(kind: .message, body: whole.bytes), size: Self.size(whole))
    }

    /// The sender's own message, with the send's options where it says nothing of them itself.
    private static func native(
        _ form: NativePayload,
        options: PayloadFormatter.Options
    ) throws(InvalidValue) -> PayloadFormatter.Measured {
        guard case .object(let members)? = try? JSONReader.read(form.body) else {
            throw InvalidValue(member: "native.fcm.message", "must be an object")
        }
        var android: [JSONValue.Member] = []
        if case .object(let own)? = members.first(where: { $0.name == "android" })?.value { android = own }
        android += Self.android(options).filter { option in
            !android.contains { $0.name == option.name || $0.name == "collapseKey" && option.name == "collapse_key" }
        }
        let whole = JSONValue.object(
            members.filter { $0.name != "android" } + (android.isEmpty ? [] : [.init("android", .object(android))])
        )
        return PayloadFormatter.Measured(
            NativePayload(kind: .message, body: whole.bytes),
            size: Self.size(whole),
            member: "native.fcm.message"
        )
    }

    /// The largest of what FCM limits: notification and data for Android, those for browsers, and the payload for APNs.
    ///
    /// Google does not document its count. The JSON text of notification and data with their names is never less than the
    /// sum of keys and values in any encoding; options, target and the outer braces belong to the message and are left out.
    private static func size(_ message: JSONValue) -> Int {
        guard case .object(let members) = message else { return 0 }
        func own(_ platform: String) -> [JSONValue.Member] {
            guard case .object(let own)? = members.first(where: { $0.name == platform })?.value else { return [] }
            return own
        }
        func text(_ parts: [JSONValue.Member]) -> Int {
            JSONValue.object(parts.filter { $0.name == "notification" || $0.name == "data" }).bytes.count - 2
        }
        let payload = own("apns").first { $0.name == "payload" }?.value.bytes.count ?? 0
        return max(text(members + own("android")), text(own("webpush")), payload)
    }

    private static func parts(of message: Content.Message) throws(InvalidValue) -> [JSONValue.Member] {
        if let key = message.data.keys.sorted().first(where: Self.isReserved) {
            throw InvalidValue(member: "data.\(key)", Self.reserved)
        }
        var parts: [JSONValue.Member] = []
        if !message.isSilent {
            var shown: [JSONValue.Member] = []
            if let title = message.title { shown.append(.init("title", .string(title))) }
            if let body = message.body { shown.append(.init("body", .string(body))) }
            if !shown.isEmpty { parts.append(.init("notification", .object(shown))) }
        }
        let data = try message.handed()
        if !data.isEmpty || message.isSilent { parts.append(.init("data", .texts(data))) }
        return parts
    }

    /// ``isReserved(_:)`` as a regular expression.
    static let reservedNames = "from$|message_type$|gcm|google"

    static let reserved =
        "FCM keeps \"from\", \"message_type\" and names that begin with \"gcm\" or \"google\" to itself; choose another"

    static func isReserved(_ key: String) -> Bool {
        // By bytes: to Swift, "gcm" with an accent over its m does not begin with "gcm", but to FCM it does.
        key == "from" || key == "message_type" || key.utf8.starts(with: "gcm".utf8)
            || key.utf8.starts(with: "google".utf8)
    }

    private static func android(_ options: PayloadFormatter.Options) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        if let collapse = options.collapse { members.append(.init("collapse_key", .string(collapse))) }
        switch options.priority {
        case .high: members.append(.init("priority", .string("HIGH")))
        case .normal: break
        case .low: members.append(.init("priority", .string("NORMAL")))
        }
        if let timeToLive = options.timeToLive {
            let seconds = min(max(0, timeToLive.components.seconds), Self.longestTimeToLive)
            members.append(.init("ttl", .string("\(seconds)s")))
        }
        return members
    }
}
