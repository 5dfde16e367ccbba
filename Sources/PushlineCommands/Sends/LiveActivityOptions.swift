import ArgumentParser
import Foundation
import PushlineClient

/// A start, a change or the end of Live Activities, whose tokens `--handle` names, or whose channel `--channel`.
struct LiveActivityOptions: ParsableArguments {
    @Option(
        name: .customLong("activity"),
        help:
            "start, update or end the Live Activities of --handle or --channel. Text and title are their alert.",
        completion: .list(LiveActivity.Event.allCases.map(\.rawValue))
    )
    var event: String?

    @Option(help: ArgumentHelp("The state, as the app decodes it.", valueName: "json"))
    var state: String?

    @Option(help: "When the state goes out of date, as 2026-12-24T18:00:00Z or +30m.")
    var stale: String?

    @Option(help: "When an ended activity is removed from the screen; a past moment = at once.")
    var dismiss: String?

    @Option(help: "For a start: the name of the app's type of attributes.")
    var attributesType: String?

    @Option(help: ArgumentHelp("For a start: what never changes in the activity.", valueName: "json"))
    var attributes: String?

    func validate() throws {
        guard self.event != nil || self.isEmpty else {
            throw ValidationError("--state, --stale, --dismiss, --attributes-type and --attributes go with --activity.")
        }
    }

    /// Whether none of the options is given.
    var isEmpty: Bool {
        [self.event, self.state, self.stale, self.dismiss, self.attributesType, self.attributes].allSatisfy {
            $0 == nil
        }
    }

    /// What becomes of the activities.
    ///
    /// - Parameter message: Title and text, which the device tells the user as well, and the relevance.
    /// - Returns: It, as the send has it.
    /// - Throws: `ValidationError` that names the option.
    func activity(alert message: MessageOptions) throws -> LiveActivity {
        guard let event = self.event.flatMap(LiveActivity.Event.init(rawValue:)) else {
            let words = LiveActivity.Event.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("--activity is one of \(words).")
        }
        var own = PushNotification(to: .all)
        own.title = message.title
        own.body = message.body
        own.relevance = message.relevance
        var given = PushNotification(to: .all)
        try message.fill(&given)
        guard given == own, message.file == nil else {
            throw ValidationError(
                "With --activity a message can have only the text, --title and --relevance; what an activity shows is in --state."
            )
        }
        let alert = ["title": message.title, "body": message.body].compactMapValues { $0.map(JSON.string) }
        var activity = LiveActivity(
            event,
            contentState: try self.state.map { try Self.object($0, of: "--state") },
            alert: alert.isEmpty ? nil : .object(alert)
        )
        activity.staleDate = try self.stale.map { try Self.moment($0, of: "--stale") }
        activity.dismissalDate = try self.dismiss.map { try Self.moment($0, of: "--dismiss") }
        activity.relevanceScore = message.relevance
        activity.attributesType = self.attributesType
        activity.attributes = try self.attributes.map { try Self.object($0, of: "--attributes") }
        return activity
    }

    private static func object(_ text: String, of option: String) throws -> JSON {
        guard let value = try? JSONDecoder().decode(JSON.self, from: Data(text.utf8)), case .object = value else {
            throw ValidationError("\(option) takes a JSON object, such as '{\"gate\": 7}'.")
        }
        return value
    }

    private static func moment(_ text: String, of option: String) throws -> Date {
        guard let date = Moment.ahead(text) else {
            throw ValidationError("\(option) takes a time as in 2026-12-24T18:00:00Z, or +30m.")
        }
        return date
    }
}
