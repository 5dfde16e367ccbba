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

    /// A toast with the data as JSON in its `launch` argument, for a silent message the JSON only, or what the message has for WNS
    /// in its place.
    private static func message(_ message: Content.Message) throws(InvalidValue) -> NativePayload {
        let headers = message.headers(at: .wns)
        let data = try message.handed()
        if let raw = message.members?.text("wns.raw") {
            return NativePayload(kind: .raw, headers: headers, body: Array(raw.utf8))
        }
        if let badge = message.members?["wns.badge"] {
            let value = if case .string(let glyph) = badge { glyph } else { badge.compactText }
            return NativePayload(kind: .badge, headers: headers, body: Array("<badge value=\"\(value)\"/>".utf8))
        }
        let json = JSONValue.texts(data).compactText
        if message.isSilent { return NativePayload(kind: .raw, headers: headers, body: Array(json.utf8)) }
        try message.requireText(for: .wns)
        if message.members?.isSet("wns.tile") == true {
            let bindings = ["TileMedium", "TileWide", "TileLarge"].map { size in
                "<binding template=\"\(size)\">\(Self.shown(message))</binding>"
            }
            let tile = "<tile><visual>\(bindings.joined())</visual></tile>"
            return NativePayload(kind: .tile, headers: headers, body: Array(tile.utf8))
        }
        let launch = data.isEmpty ? "" : " launch=\"\(XMLText.escape(json))\""
        let scenario = message.members?.text("wns.scenario").map { " scenario=\"\($0)\"" } ?? ""
        return Self.toast(
            "<binding template=\"ToastGeneric\">\(Self.shown(message))</binding>",
            attributes: launch + scenario,
            actions: MessageAction.all(of: message),
            isSilent: message.members?.isSet("wns.silent") == true,
            headers: headers
        )
    }

    /// The members that a message can have for WNS where one of them stands in place of the toast; nil = it is a toast, or silent.
    static func members(inPlaceOfToast message: Content.Message) -> [String]? {
        guard let members = message.members else { return nil }
        let headers = ["wns.tag", "wns.priority", "wns.ttl"]
        if members["wns.raw"] != nil { return headers + ["wns.raw"] }
        if members["wns.badge"] != nil { return headers + ["wns.badge"] }
        guard members.isSet("wns.tile"), !message.isSilent else { return nil }
        return headers + ["wns.tile", "subtitle", "image"]
    }

    /// The texts and the image.
    private static func shown(_ message: Content.Message) -> String {
        let texts = [message.title, message.members?.text("subtitle"), message.body].compactMap { $0 }
            .map { "<text>\(XMLText.escape($0))</text>" }
            .joined()
        return texts + (message.members?.text("image").map { "<image src=\"\(XMLText.escape($0))\"/>" } ?? "")
    }

    private static func toast(
        _ binding: String,
        attributes: String = "",
        actions: [MessageAction] = [],
        isSilent: Bool = false,
        headers: [NativePayload.Header] = []
    ) -> NativePayload {
        let buttons = actions.map { action in
            let icon = action.icon.map { " imageUri=\"\(XMLText.escape($0))\"" } ?? ""
            return
                "<action content=\"\(XMLText.escape(action.title))\" arguments=\"\(XMLText.escape(action.id))\"\(icon)/>"
        }
        let below = buttons.isEmpty ? "" : "<actions>\(buttons.joined())</actions>"
        let audio = isSilent ? "<audio silent=\"true\"/>" : ""
        let toast = "<toast\(attributes)><visual>\(binding)</visual>\(audio)\(below)</toast>"
        return NativePayload(kind: .toast, headers: headers, body: Array(toast.utf8))
    }
}
