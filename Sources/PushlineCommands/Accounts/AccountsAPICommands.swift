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

    func run() async throws { try await self.server.setDisabled(true, account: self.name) }
}

/// `pushline accounts enable`.
struct AccountsEnableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable",
        abstract: "Enable an account that was disabled."
    )

    @OptionGroup var server: ServerOptions

    @Argument(help: "The account's name.")
    var name: String

    func run() async throws { try await self.server.setDisabled(false, account: self.name) }
}

extension ServerOptions {
    /// Disables an account or enables it, and shows it.
    fileprivate func setDisabled(_ isDisabled: Bool, account name: String) async throws {
        let account = try await self.client().setDisabled(isDisabled, account: name)
        try self.show(account) { ["\(Console.safe(account.name)): \(account.disabled ? "disabled" : "enabled")"] }
    }
}
