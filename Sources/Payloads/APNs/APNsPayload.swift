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
        case .native(let native):
            if let form = native[.apns] { return PayloadFormatter.Measured(form, member: "native.apns.payload") }
            payload = try Self.message(native.message(for: .apns))
        }
        return PayloadFormatter.Measured(payload)
    }

    private static func message(_ message: Content.Message) throws(InvalidValue) -> NativePayload {
        guard message.data["aps"] == nil else {
            throw InvalidValue(member: "data.aps", "APNs keeps the name \"aps\" to itself; choose another")
        }
        let beside = JSONValue.members(ofTexts: message.data)
        if message.isSilent {
            return Self.payload(.background, aps: [.init("content-available", .integer(1))], beside: beside)
        }
        let alert: JSONValue
        if let title = message.title {
            var members: [JSONValue.Member] = [.init("title", .string(title))]
            if let body = message.body { members.append(.init("body", .string(body))) }
            alert = .object(members)
        } else {
            alert = .string(message.body ?? "")
        }
        return Self.payload(.alert, aps: [.init("alert", alert), .init("sound", .string("default"))], beside: beside)
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
