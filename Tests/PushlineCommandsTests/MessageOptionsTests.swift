import ArgumentParser
import Foundation
import PushlineClient
import Testing

@testable import PushlineCommands

/// What the options of `pushline send` say of a message.
@Suite struct MessageOptionsTests {
    private static func notification(_ arguments: [String]) throws -> PushNotification {
        let command = try SendCommand.parse(["--user", "ann"] + arguments)
        return try command.notification(to: command.audience())
    }

    /// Options, and what they set.
    struct Row: Sendable {
        let arguments: [String]
        let set: @Sendable (inout PushNotification) -> Void

        init(_ arguments: String..., set: @escaping @Sendable (inout PushNotification) -> Void) {
            self.arguments = arguments
            self.set = set
        }
    }

    static let rows = [
        Row("text") { $0.body = "text" }, Row("--title", "T") { $0.title = "T" },
        Row("--subtitle", "S") { $0.subtitle = "S" }, Row("--data", "k=v=w") { $0.data = ["k": "v=w"] },
        Row("--image", "https://a.test/i") { $0.image = "https://a.test/i" },
        Row("--link", "shop://sale") { $0.link = "shop://sale" }, Row("--badge", "0") { $0.badge = 0 },
        Row("--badge-add", "2") { $0.badgeAdd = 2 }, Row("--sound", "bell") { $0.sound = "bell" },
        Row("--category", "c") { $0.category = "c" }, Row("--thread", "t") { $0.thread = "t" },
        Row("--action", "yes=Yes = ja", "--action", "no=No") {
            $0.actions = [.init(id: "yes", title: "Yes = ja"), .init(id: "no", title: "No")]
        },
        Row("--interruption-level", "time-sensitive") { $0.interruptionLevel = .timeSensitive },
        Row("--relevance", "0.5") { $0.relevance = 0.5 }, Row("--title-loc-key", "k") { $0.titleLocKey = "k" },
        Row("--title-loc-arg", "a", "--title-loc-arg", "b") { $0.titleLocArgs = ["a", "b"] },
        Row("--subtitle-loc-key", "k") { $0.subtitleLocKey = "k" },
        Row("--subtitle-loc-arg", "a") { $0.subtitleLocArgs = ["a"] },
        Row("--body-loc-key", "k") { $0.bodyLocKey = "k" }, Row("--body-loc-arg", "a") { $0.bodyLocArgs = ["a"] },
        Row("--fcm-channel", "sales") {
            $0.fcm = .init()
            $0.fcm?.channel = "sales"
        },
    ]

    @Test(arguments: Self.rows) func anOptionIsAMember(_ row: Row) throws {
        var expected = PushNotification(to: .user("ann"))
        row.set(&expected)
        let command = try SendCommand.parse(["--user", "ann"] + row.arguments)
        #expect(try command.notification(to: command.audience()) == expected)
        let isEmpty = try command.message.isEmpty
        #expect(!isEmpty)
    }

    @Test func aStartOfALiveActivity() throws {
        let found = try Self.notification([
            "--activity", "start", "--state", #"{"gate": 7, "late": null}"#, "--attributes-type", "Flight",
            "--attributes",
            #"{"no":"LH1"}"#, "--stale", "2030-01-01T00:00:00Z", "--relevance", "75", "--title", "LH1", "Boarding",
        ])
        var activity = LiveActivity(
            .start,
            contentState: ["gate": 7, "late": nil],
            alert: ["title": "LH1", "body": "Boarding"]
        )
        activity.attributesType = "Flight"
        activity.attributes = ["no": "LH1"]
        activity.staleDate = Date(timeIntervalSince1970: 1_893_456_000)
        activity.relevanceScore = 75
        #expect(found == PushNotification(to: .user("ann"), liveActivity: activity))
    }

    @Test func theEndOfALiveActivity() throws {
        let found = try Self.notification(["--activity", "end", "--dismiss", "2020-01-01T00:00:00Z"])
        var activity = LiveActivity(.end)
        activity.dismissalDate = Date(timeIntervalSince1970: 1_577_836_800)
        #expect(found == PushNotification(to: .user("ann"), liveActivity: activity))
    }

    /// What is in the file stands in the request as it is, beside the options.
    @Test func aFileHasAllMembers() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "message-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        let text = #"{ "title": "T", "web": {"tag": "x"}, "liveActivity": null }"#
        try Data(text.utf8).write(to: file)
        let command = try SendCommand.parse(["--user", "ann", "--json", file.path, "--label", "sale"])
        #expect(try command.message.members() == Data(text.utf8))
        #expect(command.message.hasContent)
    }
}
