import ArgumentParser
import PushlineClient

/// `pushline accounts list`.
struct AccountsListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the app's accounts.")

    @OptionGroup var server: ServerOptions

    func run() async throws {
        let client = try self.server.client()
        let accounts = try await Pages.collect(.max) { limit, cursor in
            try await client.accounts(limit: limit, cursor: cursor)
        }
        try self.server.show(accounts) {
            var table = Table(["account", "role", "state", "created"])
            for account in accounts {
                let state = account.disabled ? "disabled" : "enabled"
                table.add([account.name, account.role, state, JobLines.moment(account.created)])
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

    @OptionGroup var own: OwnAccountOption

    func run() async throws {
        try await self.server.setDisabled(true, account: self.name, isSelf: self.own.isSelf)
    }
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

/// `pushline accounts change`.
struct AccountsChangeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "change",
        abstract: "Change an account's role or password.",
        discussion:
            "With --password the password is read from --password-file or from standard input, and at a terminal it is asked for."
    )

    @OptionGroup var server: ServerOptions

    @Argument(help: "The account's name.")
    var name: String

    @Option(help: "user, sender, viewer or operator.", completion: KnownValues.accountRoles)
    var role: String?

    @Flag(help: "Change the password.")
    var password = false

    @Option(help: "Read the password from this file.", completion: .file())
    var passwordFile: String?

    @OptionGroup var own: OwnAccountOption

    func validate() throws {
        guard self.role != nil || self.password || self.passwordFile != nil else {
            throw ValidationError("Say what to change: --role, --password or --password-file.")
        }
    }

    func run() async throws {
        let changesPassword = self.password || self.passwordFile != nil
        let password = changesPassword ? try PasswordInput.read(file: self.passwordFile, asksAtTerminal: true) : nil
        let account = try await self.server.client().changeAccount(
            self.name,
            role: self.role,
            password: password,
            isSelf: self.own.isSelf
        )
        try self.server.show(account) {
            ["\(Console.safe(account.name)): \(account.role)\(changesPassword ? ", with a new password" : "")"]
        }
    }
}

/// `pushline accounts remove`.
struct AccountsRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove an account. Its devices stay registered; pushline users remove removes them too."
    )

    @OptionGroup var server: ServerOptions

    @Argument(help: "The account's name.")
    var name: String

    @OptionGroup var own: OwnAccountOption

    func run() async throws {
        try await self.server.client().removeAccount(self.name, isSelf: self.own.isSelf)
        try self.server.show(["removed": self.name]) { ["\(Console.safe(self.name)): removed"] }
    }
}

/// Whether a command may end the account that runs it.
struct OwnAccountOption: ParsableArguments {
    @Flag(name: .customLong("self"), help: "It may be your own account.")
    var isSelf = false
}

extension ServerOptions {
    /// Disables an account or enables it, and shows it.
    fileprivate func setDisabled(_ isDisabled: Bool, account name: String, isSelf: Bool = false) async throws {
        let account = try await self.client().changeAccount(name, disabled: isDisabled, isSelf: isSelf)
        try self.show(account) { ["\(Console.safe(account.name)): \(account.disabled ? "disabled" : "enabled")"] }
    }
}
