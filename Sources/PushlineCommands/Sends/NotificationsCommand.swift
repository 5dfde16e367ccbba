import ArgumentParser
import Foundation
import PushlineClient

/// `pushline notifications`.
struct NotificationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifications",
        abstract: "List rich notifications, newest first, and whether they were read."
    )

    @OptionGroup var server: ServerOptions

    @Option(help: "Those for this user.")
    var user: String?

    @Option(help: "Those that this user sent.")
    var sender: String?

    @Option(help: "Those sent since then: a time such as 2026-11-21T08:30:00Z, or how long ago: 90s, 30m, 2h, 7d.")
    var since: String?

    @Option(help: "The most to list.")
    var limit: Int = 20

    func validate() throws {
        guard self.limit > 0 else { throw ValidationError("--limit must be at least 1.") }
        if let since = self.since, Moment.parse(since) == nil {
            throw ValidationError("--since takes a time such as 2026-11-21T08:30:00Z, or 90s, 30m, 2h, 7d.")
        }
    }

    func run() async throws {
        let client = try self.server.client()
        let since = self.since.flatMap { Moment.parse($0) }
        let found = try await Pages.collect(self.limit) { limit, cursor in
            try await client.richNotifications(
                user: self.user,
                sender: self.sender,
                since: since,
                limit: limit,
                cursor: cursor
            )
        }
        try self.server.show(found) {
            var table = Table(["notification", "sent", "sender", "user", "type", "read"])
            for one in found {
                table.add([
                    String(one.id), JobText.moment(one.created), one.sender, one.user,
                    one.isSecure ? "secure \(one.richType)" : one.richType, one.read.map(JobText.moment) ?? "no",
                ])
            }
            return table.lines
        }
    }
}
