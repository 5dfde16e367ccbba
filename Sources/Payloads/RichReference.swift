import PushModel

/// The content of a silent push that makes the app fetch a rich notification.
enum RichReference {
    /// The members in the order of existing apps, all of them texts; a secure one has only its id.
    static func members(_ rich: Content.RichPush) -> [(name: String, text: String)] {
        guard !rich.isSecure else { return [("secureId", String(rich.id))] }
        return [("richId", String(rich.id)), ("richMessage", rich.message), ("richType", rich.richType)]
    }
}
