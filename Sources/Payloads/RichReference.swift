import PushModel

/// What a silent push says of the rich notification that the app is to fetch.
enum RichReference {
    /// The members in the order that existing apps know, all of them texts; a secure one names its id alone.
    static func members(_ rich: Content.RichPush) -> [(name: String, text: String)] {
        guard !rich.isSecure else { return [("secureId", String(rich.id))] }
        return [("richId", String(rich.id)), ("richMessage", rich.message), ("richType", rich.richType)]
    }
}
