import PushModel

/// The JSON body for APNs.
enum APNsPayload {
    static func format(_ content: Content) throws(InvalidValue) -> NativePayload {
        let payload: NativePayload
        switch content {
        case .message(let message):
            payload = try Self.message(message)
        case .classic(let sender, let text):
            let shown = JSONText.string(ClassicText.shown(sender: sender, text: text))
            payload = Self.payload(.alert, aps: [("alert", shown)], beside: [])
        case .rich(let rich):
            payload = Self.rich(rich)
        }
        try PayloadFormatter.check(size: payload.body.count, for: .apns)
        return payload
    }

    private static func message(_ message: Content.Message) throws(InvalidValue) -> NativePayload {
        guard message.data["aps"] == nil else {
            throw InvalidValue(member: "data.aps", "APNs keeps the name \"aps\" to itself; choose another")
        }
        let beside = JSONText.members(message.data)
        if message.isSilent {
            return Self.payload(.background, aps: [("content-available", .integer(1))], beside: beside)
        }
        let alert: JSONText
        if let title = message.title {
            var members: [(name: String, value: JSONText)] = [("title", .string(title))]
            if let body = message.body { members.append(("body", .string(body))) }
            alert = .object(members)
        } else {
            alert = .string(message.body ?? "")
        }
        return Self.payload(.alert, aps: [("alert", alert), ("sound", .string("default"))], beside: beside)
    }

    /// A silent push as existing apps know it: with an empty sound, unless it is a secure one.
    private static func rich(_ rich: Content.RichPush) -> NativePayload {
        Self.payload(
            .background,
            aps: [("content-available", .integer(1))] + (rich.isSecure ? [] : [("sound", .string(""))]),
            beside: RichReference.members(rich).map { ($0.name, .string($0.text)) }
        )
    }

    private static func payload(
        _ kind: NativePayload.Kind,
        aps: [(name: String, value: JSONText)],
        beside: [(name: String, value: JSONText)]
    ) -> NativePayload {
        NativePayload(kind: kind, body: JSONText.object([("aps", .object(aps))] + beside).bytes)
    }
}
