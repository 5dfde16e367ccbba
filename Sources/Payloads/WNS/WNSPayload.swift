import PushModel

/// A toast, or raw bytes, for WNS.
enum WNSPayload {
    static func format(_ content: Content) throws(InvalidValue) -> PayloadFormatter.Measured {
        let payload: NativePayload
        switch content {
        case .message(let message):
            payload = Self.message(message)
        case .classic(let sender, let text):
            // The template of the classic backend: existing apps look for it.
            let shown = XMLText.escape(ClassicText.shown(sender: sender, text: text))
            payload = Self.toast(#"<binding template="ToastText01"><text id="1">\#(shown)</text></binding>"#)
        case .rich(let rich):
            let members = RichReference.members(rich).map { JSONValue.Member($0.name, .string($0.text)) }
            // Of a secure one the bare number.
            payload = NativePayload(
                kind: .raw,
                body: rich.isSecure ? Array(String(rich.id).utf8) : JSONValue.object(members).bytes
            )
        case .native(let native):
            if let form = native[.wns] { return PayloadFormatter.Measured(form, member: "native.wns.body") }
            payload = Self.message(try native.message(for: .wns))
        }
        return PayloadFormatter.Measured(payload)
    }

    /// A toast with the data as JSON in its `launch` argument, or for a silent message the JSON only.
    private static func message(_ message: Content.Message) -> NativePayload {
        let data = JSONValue.texts(message.data).bytes
        if message.isSilent { return NativePayload(kind: .raw, body: data) }
        let texts = [message.title, message.body].compactMap { $0 }
            .map { "<text>\(XMLText.escape($0))</text>" }
            .joined()
        let launch = message.data.isEmpty ? "" : " launch=\"\(XMLText.escape(String(decoding: data, as: UTF8.self)))\""
        return Self.toast("<binding template=\"ToastGeneric\">\(texts)</binding>", attributes: launch)
    }

    private static func toast(_ binding: String, attributes: String = "") -> NativePayload {
        NativePayload(kind: .toast, body: Array("<toast\(attributes)><visual>\(binding)</visual></toast>".utf8))
    }
}
