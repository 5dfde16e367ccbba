import PushModel

/// A button of a notification.
struct MessageAction {
    /// What the app is told when it is pressed.
    let id: String
    let title: String
    let icon: String?

    /// Reads one of ``MemberValue/actions``; nil = it is none.
    init?(_ value: JSONValue) {
        guard case .object(let members) = value, Set(members.map(\.name)).count == members.count,
            members.allSatisfy({ ["id", "title", "icon"].contains($0.name) })
        else { return nil }
        func text(_ name: String) -> String? {
            guard case .string(let text)? = members.first(where: { $0.name == name })?.value else { return nil }
            return (1...200).contains(text.unicodeScalars.count) || name == "icon" ? text : nil
        }
        guard let id = text("id"), let title = text("title") else { return nil }
        if members.contains(where: { $0.name == "icon" }) {
            guard let icon = text("icon"), MemberValue.isAddress(icon) else { return nil }
            self.icon = icon
        } else {
            self.icon = nil
        }
        (self.id, self.title) = (id, title)
    }

    /// Those of a message.
    static func all(of message: Content.Message) -> [MessageAction] {
        guard case .array(let items)? = message.members?["actions"] else { return [] }
        return items.compactMap(MessageAction.init)
    }
}

extension MemberValue {
    /// Buttons.
    static let actions = MemberValue(
        schema: ##"{type: [array, "null"], minItems: 1, maxItems: 5, items: {$ref: "#/components/schemas/Action"}}"##,
        words:
            "must be an array of 1 to 5 objects with an id and a title of at most 200 characters, and perhaps an icon's https address",
        read: { value in
            guard case .array(let items) = value, (1...5).contains(items.count) else { return nil }
            return items.allSatisfy { MessageAction($0) != nil } ? value : nil
        }
    )

    /// As `showNotification` wants them.
    @Sendable static func webActions(_ value: JSONValue) -> JSONValue? {
        guard case .array(let items) = value else { return nil }
        return .array(
            items.compactMap(MessageAction.init).map { action in
                .members([
                    "action": .string(action.id), "title": .string(action.title),
                    "icon": action.icon.map(JSONValue.string),
                ])
            }
        )
    }
}
