import ArgumentParser
import Foundation
import PushlineClient

/// `pushline notifications`.
struct NotificationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifications",
        abstract: "List rich notifications, newest first, with their read state."
    )

    @OptionGroup var server: ServerOptions

    @Option(help: "Only those to this user.")
    var user: String?

    @Option(help: "Only those sent by this user.")
    var sender: String?

    @OptionGroup var list: RecentOptions

    func run() async throws {
        let client = try self.server.client()
        let found = try await Pages.collect(self.list.limit) { limit, cursor in
            try await client.richNotifications(
                user: self.user,
                sender: self.sender,
                since: self.list.moment,
                limit: limit,
                cursor: cursor
            )
        }
        try self.server.show(found) {
            var table = Table(["notification", "sent", "sender", "user", "type", "read"])
            for one in found {
                table.add([
                    String(one.id), JobLines.moment(one.created), one.sender, one.user,
                    one.isSecure ? "secure \(one.richType)" : one.richType, one.read.map(JobLines.moment) ?? "no",
                ])
            }
            return table.lines
        }
    }
}
