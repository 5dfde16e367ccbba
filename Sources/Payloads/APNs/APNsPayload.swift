import PushModel

/// The JSON body for APNs.
enum APNsPayload {
    static func format(_ content: Content) throws(InvalidValue) -> PayloadFormatter.Measured {
        let payload: NativePayload
        switch content {
        case .message(let message):
            payload = try Self.message(message)
        case .classic(let sender, let text):
            let shown = JSONValue.string(ClassicText.shown(sender: sender, text: text))
            payload = Self.payload(.alert, aps: [.init("alert", shown)], beside: [])
        case .rich(let rich):
            payload = Self.rich(rich)
        case .template: throw InvalidValue("a template makes the payload of each device")
        case .native(let native):
            if let form = native[.apns] { return PayloadFormatter.Measured(form, member: "native.apns.payload") }
            payload = try Self.message(native.message(for: .apns))
        }
        return PayloadFormatter.Measured(payload)
    }

    /// Why a member that has a place at APNs is dropped from this message; nil = it is not.
    @Sendable static func reasonToDrop(_ name: String, of message: Content.Message) -> String? {
        name == "sound" && message.members?.isSet("apns.silent") == true ? "apns.silent turns the sound off" : nil
    }

    private static func message(_ message: Content.Message) throws(InvalidValue) -> NativePayload {
        guard message.data["aps"] == nil else {
            throw InvalidValue(member: "data.aps", "APNs keeps the name \"aps\" to itself; choose another")
        }
        var beside = JSONValue.members(ofTexts: try message.handed())
        if !message.isSilent, let image = message.members?.text("image") {
            guard message.data["image"] == nil else {
                throw InvalidValue(
                    member: "data.image",
                    "is where Pushline puts the member `image` of the send for APNs; give only one of them"
                )
            }
            beside.append(.init("image", .string(image)))
        }
        let body = message.adding(to: .object([.init("aps", .object(Self.aps(message)))] + beside), at: .apns)
        let kind = APNsForm.usualType(of: body)
        return NativePayload(kind: kind, headers: try Self.headers(message, kind), body: body.bytes)
    }

    /// What is there before the members that have a place of their own.
    private static func aps(_ message: Content.Message) -> [JSONValue.Member] {
        if message.isSilent { return [.init("content-available", .integer(1))] }
        var aps: [JSONValue.Member] = [.init("alert", Self.alert(message))]
        if message.members?.text("image") != nil { aps.append(.init("mutable-content", .integer(1))) }
        return aps + Self.sound(message)
    }

    private static func alert(_ message: Content.Message) -> JSONValue {
        let isPlain = !message.placed(at: .apns).contains { $0.place.name.hasPrefix("aps.alert.") }
        if isPlain, message.title == nil, let body = message.body { return .string(body) }
        return .members(["title": message.title.map(JSONValue.string), "body": message.body.map(JSONValue.string)])
    }

    /// That of the app where it names one, else the device's usual one.
    private static func sound(_ message: Content.Message) -> [JSONValue.Member] {
        if message.members?.isSet("apns.silent") == true { return [] }
        let name = JSONValue.string(message.members?.text("sound") ?? "default")
        guard let members = message.members, members.isSet("apns.critical") else { return [.init("sound", name)] }
        let sound = JSONValue.members(["critical": .integer(1), "name": name, "volume": members["apns.volume"]])
        return [.init("sound", sound), .init("interruption-level", .string("critical"))]
    }

    /// Its headers, of which the push type does not allow every priority.
    private static func headers(
        _ message: Content.Message,
        _ kind: NativePayload.Kind
    ) throws(InvalidValue) -> [NativePayload.Header] {
        let headers = message.headers(at: .apns)
        if let wanted = headers.first(where: { $0.name == "apns-priority" })?.value,
            let allowed = APNsPushType.of(kind)?.priorities, !allowed.contains(wanted)
        {
            throw InvalidValue(
                member: "apns.priority",
                "must be \(allowed.joined(separator: " or ")) for a notification of the push type \(kind.name)"
            )
        }
        return headers
    }

    /// A silent push as existing apps know it: with an empty sound, unless it is a secure one.
    private static func rich(_ rich: Content.RichPush) -> NativePayload {
        Self.payload(
            .background,
            aps: [JSONValue.Member("content-available", .integer(1))]
                + (rich.isSecure ? [] : [JSONValue.Member("sound", .string(""))]),
            beside: RichReference.members(rich).map { .init($0.name, .string($0.text)) }
        )
    }

    private static func payload(
        _ kind: NativePayload.Kind,
        aps: [JSONValue.Member],
        beside: [JSONValue.Member]
    ) -> NativePayload {
        NativePayload(kind: kind, body: JSONValue.object([JSONValue.Member("aps", .object(aps))] + beside).bytes)
    }
}
