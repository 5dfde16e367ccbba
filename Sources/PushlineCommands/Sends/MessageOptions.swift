import ArgumentParser
import Foundation
import PushlineClient

/// What a send says: the members of a message that are asked for often; a file has them all.
struct MessageOptions: ParsableArguments {
    @Argument(help: "The text. Without text and title, a background notification with the data is sent.")
    var body: String?

    @Option(help: "The title.")
    var title: String?

    @Option(help: "The line between title and text.")
    var subtitle: String?

    @Option(help: ArgumentHelp("Data for the app; repeatable.", valueName: "name=value"))
    var data: [String] = []

    @Option(help: "The address of a picture.")
    var image: String?

    @Option(help: "The address that the app opens.")
    var link: String?

    @Option(help: "The number on the app's icon; 0 = none.")
    var badge: Int?

    @Option(help: "How much to add to the number on the app's icon (Android).")
    var badgeAdd: Int?

    @Option(help: "The name of a sound in the app. Default: the device's usual one.")
    var sound: String?

    @Option(help: "The app's name for the kind of notification.")
    var category: String?

    @Option(help: ArgumentHelp("A button; repeatable, at most 5.", valueName: "id=title"))
    var action: [String] = []

    @Option(help: "Notifications with the same thread are shown together.")
    var thread: String?

    @Option(
        help: "\(InterruptionLevel.allCases.map(\.rawValue).joined(separator: ", ")).",
        completion: .list(InterruptionLevel.allCases.map(\.rawValue))
    )
    var interruptionLevel: String?

    @Option(help: "How relevant it is among those of the app, from 0 to 1; of a Live Activity any number.")
    var relevance: Double?

    @Option(help: "The key of the app's localised text for the title.")
    var titleLocKey: String?

    @Option(help: "A value for the text of --title-loc-key; repeatable.")
    var titleLocArg: [String] = []

    @Option(help: "The key of the app's localised text for the line between title and text.")
    var subtitleLocKey: String?

    @Option(help: "A value for the text of --subtitle-loc-key; repeatable.")
    var subtitleLocArg: [String] = []

    @Option(help: "The key of the app's localised text for the text.")
    var bodyLocKey: String?

    @Option(help: "A value for the text of --body-loc-key; repeatable.")
    var bodyLocArg: [String] = []

    @Option(help: "The app's notification channel on Android.")
    var fcmChannel: String?

    @Option(
        help: ArgumentHelp(
            "A file with further members of POST /api/sends as JSON, except to; - reads standard input.",
            valueName: "file"
        ),
        completion: .file()
    )
    var json: String?

    @Option(
        help: ArgumentHelp(
            "Payloads in the services' own words: a file with the JSON of native in POST /api/sends; - reads standard input.",
            valueName: "file"
        ),
        completion: .file()
    )
    var native: String?

    private typealias InterruptionLevel = PushNotification.InterruptionLevel

    func validate() throws {
        guard self.native == nil || self.json == nil else {
            throw ValidationError(
                "Give only one of --json and --native: the file of --json can have the member native."
            )
        }
    }

    /// The options of which one must be given, beside the text.
    static let contentNames = "--title, --title-loc-key, --body-loc-key, --badge, --data, --json, --native"

    var hasContent: Bool {
        [self.body, self.title, self.titleLocKey, self.bodyLocKey, self.file].contains { $0 != nil }
            || self.badge != nil || !self.data.isEmpty
    }

    /// Whether none of the options is given.
    var isEmpty: Bool {
        get throws {
            let nothing = PushNotification(to: .all)
            var notification = nothing
            try self.fill(&notification)
            return notification == nothing && self.file == nil
        }
    }

    /// The file that is read, if any.
    var file: String? { self.json ?? self.native }

    /// What is in the file: members of a send, as they are there.
    func members() throws -> Data? {
        try self.json.map { try NotificationFile.members($0) } ?? self.native.map { try NotificationFile.native($0) }
    }

    /// Sets the members that are given.
    ///
    /// - Throws: `ValidationError` that names the option.
    func fill(_ notification: inout PushNotification) throws {
        notification.title = self.title
        notification.body = self.body
        notification.subtitle = self.subtitle
        notification.data = try Self.pairs(self.data, of: "--data", "name=value").map { Dictionary($0) { $1 } }
        notification.image = self.image
        notification.link = self.link
        notification.badge = self.badge
        notification.badgeAdd = self.badgeAdd
        notification.sound = self.sound
        notification.category = self.category
        notification.actions = try Self.pairs(self.action, of: "--action", "id=title")?.map {
            PushNotification.Action(id: $0.0, title: $0.1)
        }
        notification.thread = self.thread
        notification.interruptionLevel = try self.interruptionLevel.map { word in
            guard let level = InterruptionLevel(rawValue: word) else {
                let words = InterruptionLevel.allCases.map(\.rawValue).joined(separator: ", ")
                throw ValidationError("--interruption-level is one of \(words), not \"\(word)\".")
            }
            return level
        }
        notification.relevance = self.relevance
        notification.titleLocKey = self.titleLocKey
        notification.titleLocArgs = self.titleLocArg.isEmpty ? nil : self.titleLocArg
        notification.subtitleLocKey = self.subtitleLocKey
        notification.subtitleLocArgs = self.subtitleLocArg.isEmpty ? nil : self.subtitleLocArg
        notification.bodyLocKey = self.bodyLocKey
        notification.bodyLocArgs = self.bodyLocArg.isEmpty ? nil : self.bodyLocArg
        if let channel = self.fcmChannel {
            notification.fcm = .init()
            notification.fcm?.channel = channel
        }
    }

    /// Names with their values; nil = there are none.
    private static func pairs(_ texts: [String], of option: String, _ form: String) throws -> [(String, String)]? {
        var names: Set<String> = []
        let pairs = try texts.map { text in
            guard let sign = text.firstIndex(of: "="), sign != text.startIndex else {
                throw ValidationError("\(option) takes \(form), not \"\(text)\".")
            }
            let name = String(text[..<sign])
            guard names.insert(name).inserted else { throw ValidationError("\(option) has \"\(name)\" twice.") }
            return (name, String(text[text.index(after: sign)...]))
        }
        return pairs.isEmpty ? nil : pairs
    }
}
