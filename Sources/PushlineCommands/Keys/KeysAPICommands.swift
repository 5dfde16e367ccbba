import ArgumentParser
import PushlineClient

/// `pushline keys list`.
struct KeysListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the app's keys.")

    @OptionGroup var server: ServerOptions

    func run() async throws {
        let keys = try await self.server.client().keys()
        try self.server.show(keys) {
            var table = Table(["key", "role", "created", "revoked"])
            for key in keys {
                table.add([key.name, key.role, JobLines.moment(key.created), key.revoked.map(JobLines.moment)])
            }
            return table.lines
        }
    }
}

/// `pushline keys revoke`.
struct KeysRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revoke an API key for good. Its name cannot be used again."
    )

    @OptionGroup var server: ServerOptions

    @Argument(help: "The key's name.")
    var name: String

    func run() async throws {
        try await self.server.client().revokeKey(named: self.name)
        try self.server.show(["revoked": self.name]) { ["\(Console.safe(self.name)): revoked"] }
    }
}
