import ArgumentParser
import PushlineClient

/// `pushline accounts list`.
struct AccountsListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the app's accounts.")

    @OptionGroup var server: ServerOptions

    func run() async throws {
        let accounts = try await self.server.client().accounts()
        try self.server.show(accounts) {
            var table = Table(["account", "role", "state", "created"])
            for account in accounts {
                let state = account.disabled ? "disabled" : "enabled"
                table.add([account.name, account.role, state, JobText.moment(account.created)])
            }
            return table.lines
        }
    }
}

/// `pushline accounts disable`.
struct AccountsDisableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Disable an account. Its devices stay registered."
    )

    @OptionGroup var server: ServerOptions

    @Argument(help: "The account's name.")
    var name: String

    @Flag(help: "Enable the account again instead.")
    var undo = false

    func run() async throws {
        let account = try await self.server.client().setDisabled(!self.undo, account: self.name)
        try self.server.show(account) {
            ["\(Console.safe(account.name)): \(account.disabled ? "disabled" : "enabled")"]
        }
    }
}
