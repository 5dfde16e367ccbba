import ArgumentParser
import Foundation
import PushModel
import PushlineClient

/// `pushline registrations`.
struct RegistrationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "registrations",
        abstract: "List, delete, import or export registrations of devices.",
        subcommands: [List.self, Delete.self, Import.self, Export.self]
    )

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List registrations.")

        @OptionGroup var server: ServerOptions

        @Option(help: "Only those of this user.")
        var user: String?

        @Option(help: "Only those with this tag.")
        var tag: String?

        @Option(help: "Those of this push service: \(PushService.list()).", completion: KnownValues.platforms)
        var platform: String?

        @Option(
            help: "live, pruned, expired, replaced or deleted; all but the deleted unless given.",
            completion: KnownValues.registrationStates
        )
        var state: String?

        @Option(help: "Maximum number to list.")
        var limit: Int = 100

        func validate() throws {
            guard self.limit > 0 else { throw ValidationError("--limit must be at least 1.") }
        }

        func run() async throws {
            let client = try self.server.client()
            let found = try await Pages.collect(self.limit) { limit, cursor in
                try await client.registrations(
                    user: self.user,
                    tag: self.tag,
                    platform: self.platform.map(Platform.init(rawValue:)),
                    state: self.state,
                    limit: limit,
                    cursor: cursor
                )
            }
            try self.server.show(found) {
                var table = Table(["registration", "user", "service", "handle", "state", "updated", "tags", "ended"])
                for one in found {
                    table.add([
                        one.id, one.user, one.pns?.rawValue, one.handle, one.state, JobText.moment(one.updated),
                        one.tags.joined(separator: " "), one.ended.map { "\(JobText.moment($0.at)) \($0.reason)" },
                    ])
                }
                return table.lines
            }
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a registration for good. The device must ask for a new id."
        )

        @OptionGroup var server: ServerOptions

        @Argument(help: "The registration's id.")
        var id: String

        func run() async throws {
            try await self.server.client().deleteRegistration(self.id)
            try self.server.show(["deleted": self.id]) { ["\(Console.safe(self.id)): deleted"] }
        }
    }
}
