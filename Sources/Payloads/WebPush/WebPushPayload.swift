import PushModel

/// JSON for a page's service worker, before it is encrypted.
enum WebPushPayload {
    static func format(_ content: Content) throws(InvalidValue) -> PayloadFormatter.Measured {
        let body: JSONValue
        var headers: [NativePayload.Header] = []
        switch content {
        case .message(let message):
            (body, headers) = (try Self.body(of: message), message.headers(at: .web))
        case .classic(let sender, let text):
            body = .object([.init("message", .string(ClassicText.shown(sender: sender, text: text)))])
        case .rich(let rich):
            body = .object(RichReference.members(rich).map { .init($0.name, .string($0.text)) })
        case .template: throw InvalidValue("a template makes the payload of each device")
        case .native(let native):
            if let form = native[.web] { return PayloadFormatter.Measured(form, member: "native.web.payload") }
            let message = try native.message(for: .web)
            (body, headers) = (try Self.body(of: message), message.headers(at: .web))
        }
        return PayloadFormatter.Measured(NativePayload(kind: .webMessage, headers: headers, body: body.bytes))
    }

    /// What a service worker hands to `showNotification`; a silent message has its data, and perhaps a badge.
    private static func body(of message: Content.Message) throws(InvalidValue) -> JSONValue {
        try message.requireText(for: .web)
        let data = try message.handed()
        let plain = JSONValue.members([
            "title": message.title.map(JSONValue.string),
            "body": message.body.map(JSONValue.string),
            "data": data.isEmpty && !message.isSilent ? nil : .texts(data),
        ])
        return message.adding(to: plain, at: .web)
    }
}
