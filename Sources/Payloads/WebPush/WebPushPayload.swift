import PushModel

/// JSON for a page's service worker, before it is encrypted.
enum WebPushPayload {
    static func format(_ content: Content) throws(InvalidValue) -> PayloadFormatter.Measured {
        let members: [JSONValue.Member]
        switch content {
        case .message(let message):
            members = Self.members(of: message)
        case .classic(let sender, let text):
            members = [.init("message", .string(ClassicText.shown(sender: sender, text: text)))]
        case .rich(let rich):
            members = RichReference.members(rich).map { .init($0.name, .string($0.text)) }
        case .native(let native):
            if let form = native[.web] { return PayloadFormatter.Measured(form, member: "native.web.payload") }
            members = Self.members(of: try native.message(for: .web))
        }
        return PayloadFormatter.Measured(
            NativePayload(kind: .webMessage, body: JSONValue.object(members).bytes)
        )
    }

    /// A silent message has its data alone.
    private static func members(of message: Content.Message) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        if !message.isSilent {
            if let title = message.title { members.append(.init("title", .string(title))) }
            if let body = message.body { members.append(.init("body", .string(body))) }
        }
        if !message.data.isEmpty || message.isSilent { members.append(.init("data", .texts(message.data))) }
        return members
    }
}
