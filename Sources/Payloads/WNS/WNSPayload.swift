import PushModel

/// A toast, or raw bytes, for WNS.
enum WNSPayload {
    static func format(_ content: Content) throws(InvalidValue) -> PayloadFormatter.Measured {
        let payload: NativePayload
        switch content {
        case .message(let message):
            payload = try Self.message(message)
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
        case .template: throw InvalidValue("a template makes the payload of each device")
        case .native(let native):
            if let form = native[.wns] { return PayloadFormatter.Measured(form, member: "native.wns.body") }
            payload = try Self.message(native.message(for: .wns))
        }
        return PayloadFormatter.Measured(payload)
    }

    /// A toast with the data as JSON in its `launch` argument, for a silent message the JSON only, or the push that ``WNSPush`` has in its
    /// place.
    private static func message(_ message: Content.Message) throws(InvalidValue) -> NativePayload {
        let headers = message.headers(at: .wns)
        let data = try message.handed()
        let json = JSONValue.texts(data).compactText
        let push = WNSPush(message)
        let whole = push.whole.flatMap { message.members?[$0] }
        let text: String
        switch push.kind {
        case .raw:
            text = if case .string(let own)? = whole { own } else { json }
        case .badge:
            let value = if case .string(let glyph)? = whole { glyph } else { whole?.compactText ?? "" }
            text = "<badge value=\"\(value)\"/>"
        case .tile:
            let bindings = ["TileMedium", "TileWide", "TileLarge"].map { size in
                "<binding template=\"\(size)\">\(Self.shown(message))</binding>"
            }
            text = "<tile><visual>\(bindings.joined())</visual></tile>"
        default:
            return Self.toast(message, data: data.isEmpty ? nil : json, headers: headers)
        }
        return NativePayload(kind: push.kind, headers: headers, body: Array(text.utf8))
    }

    private static func toast(
        _ message: Content.Message,
        data: String?,
        headers: [NativePayload.Header]
    ) -> NativePayload {
        let launch = data.map { " launch=\"\(XMLText.escape($0))\"" } ?? ""
        let scenario = message.members?.text("wns.scenario").map { " scenario=\"\($0)\"" } ?? ""
        let sound = message.members?.text("wns.sound").map { "<audio src=\"\(XMLText.escape($0))\"/>" } ?? ""
        return Self.toast(
            "<binding template=\"ToastGeneric\">\(Self.shown(message))</binding>",
            attributes: launch + scenario,
            audio: message.members?.isSet("wns.silent") == true ? "<audio silent=\"true\"/>" : sound,
            actions: MessageAction.all(of: message),
            headers: headers
        )
    }

    /// The texts and the image.
    private static func shown(_ message: Content.Message) -> String {
        let texts = WNSPush.texts(message).map { "<text>\(XMLText.escape($0))</text>" }.joined()
        return texts + (message.members?.text("image").map { "<image src=\"\(XMLText.escape($0))\"/>" } ?? "")
    }

    private static func toast(
        _ binding: String,
        attributes: String = "",
        audio: String = "",
        actions: [MessageAction] = [],
        headers: [NativePayload.Header] = []
    ) -> NativePayload {
        let buttons = actions.map { action in
            let icon = action.icon.map { " imageUri=\"\(XMLText.escape($0))\"" } ?? ""
            return
                "<action content=\"\(XMLText.escape(action.title))\" arguments=\"\(XMLText.escape(action.id))\"\(icon)/>"
        }
        let below = buttons.isEmpty ? "" : "<actions>\(buttons.joined())</actions>"
        let toast = "<toast\(attributes)><visual>\(binding)</visual>\(audio)\(below)</toast>"
        return NativePayload(kind: .toast, headers: headers, body: Array(toast.utf8))
    }
}
