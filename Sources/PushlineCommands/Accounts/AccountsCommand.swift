import ArgumentParser
import Authentication
import PushModel
import Store

/// `pushline accounts`.
struct AccountsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accounts",
        abstract: "Add, list, change, disable, enable or remove accounts that sign in with name and password.",
        subcommands: [
            Add.self, AccountsListCommand.self, AccountsChangeCommand.self, AccountsDisableCommand.self,
            AccountsEnableCommand.self, AccountsRemoveCommand.self,
        ]
    )

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add an account on this host, or change its password and role.",
            discussion: """
                The password is read from --password-file or from standard input, and at a terminal it is asked for. \
                Adding an account that is there sets its password and role, and enables it.
                """
        )

        @OptionGroup var host: HostOptions
        @OptionGroup var app: AppOption

        @Argument(help: "The name to sign in with: any text of 1 to 256 bytes without a colon.")
        var name: String

        @Option(
            help: """
                user (its own devices and sends), sender (sends to anyone), viewer (sees everything of the app, changes nothing) or operator \
                (everything of the app).
                """,
            completion: KnownValues.accountRoles
        )
        var role: String

        @Option(help: "Read the password from this file.", completion: .file())
        var passwordFile: String?

        @Flag(help: "Read the password from standard input, also where that is a terminal.")
        var passwordStdin = false

        func validate() throws {
            // The app does not say what a name is.
            do { _ = try UserName(self.name, .exact) } catch { throw ValidationError("\(error.reason).") }
            // Basic authentication ends the name at the first colon.
            guard !self.name.utf8.contains(UInt8(ascii: ":")) else {
                throw ValidationError("An account's name must not contain a colon: nobody could sign in with it.")
            }
            guard Role(rawValue: self.role) != nil else {
                throw ValidationError("--role is user, sender, viewer or operator.")
            }
            guard self.passwordFile == nil || !self.passwordStdin else {
                throw ValidationError("Give --password-file or --password-stdin, not both.")
            }
        }

        func run() async throws {
            guard let role = Role(rawValue: self.role) else { throw CommandFailure.usage("--role: unknown") }
            // Whoever may not change this host's store, or names an app that is none, is told so before being asked for a password.
            let configuration = try self.host.configuration()
            _ = try await self.host.withStore(of: configuration, isChanging: true) {
                try await self.app.declared(in: $0)
            }
            let password = try PasswordInput.read(file: self.passwordFile, asksAtTerminal: !self.passwordStdin)
            let hash: String
            do { hash = try PasswordHash.make(password) } catch let error as InvalidValue {
                throw CommandFailure.failed("the \(error.member) \(error.reason)")
            }
            // Which store it is was said.
            let (app, isNew) = try await self.host.withStore(of: configuration) { store in
                let (app, spec) = try await self.app.declared(in: store)
                let name = try UserName(self.name, spec.users)
                let known = try await store.account(name, app: app)?.account
                if let known, known.name.name != self.name {
                    throw CommandFailure.failed(
                        "\(app) already has the account \(known.name), and names that differ only in letter case are one user's: "
                            + "add \(known.name) to change it"
                    )
                }
                let account = Account(app: app, name: name, role: role, isDisabled: false, created: .now)
                let kind = known == nil ? ActKind.accountAdd : .accountChange
                _ = try await store.act(.ofHost(kind, app: app, user: name, target: role.rawValue)) {
                    try await store.apply(.account(.put(account, passwordHash: hash)))
                }
                return (app, known == nil)
            }
            let output = JSONValue.members([
                "app": .string(app.name), "name": .string(self.name), "role": .string(role.rawValue),
                "result": .string(isNew ? "added" : "changed"),
            ])
            self.host.show(output) {
                ["\(self.name): \(isNew ? "added to" : "password and role set in") \(app) as \(role.rawValue)"]
            }
        }
    }
}
