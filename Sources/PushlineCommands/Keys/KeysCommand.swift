import ArgumentParser
import Authentication
import PushModel
import Store

/// `pushline keys`.
struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Create, list or revoke API keys; make the key pair of Web Push.",
        discussion: """
            create works on the host, in the store, as the user that the processes run as; list and revoke ask the API from anywhere, with an \
            operator's key in PUSHLINE_KEY.
            """,
        subcommands: [Create.self, KeysListCommand.self, KeysRevokeCommand.self, KeysVAPIDCommand.self]
    )

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create an API key on this host. Its secret is shown once.",
            discussion:
                "Only the secret goes to standard output: PUSHLINE_KEY=$(pushline keys create NAME --role sender)"
        )

        @OptionGroup var host: HostOptions
        @OptionGroup var app: AppOption

        @Argument(help: "Names the key in lists and jobs: letters, digits and _ @ # . : - =")
        var name: String

        @Option(
            help: """
                sender (sends to anyone, manages registrations, sees its own jobs), viewer (sees everything of the app, changes nothing) or operator \
                (everything of the app).
                """,
            completion: KnownValues.keyRoles
        )
        var role: String

        func validate() throws {
            do { try APIKey.check(name: self.name) } catch { throw ValidationError("\(error.reason).") }
            guard let role = Role(rawValue: self.role), role != .user else {
                throw ValidationError("--role is sender, viewer or operator.")
            }
        }

        func run() async throws {
            guard let role = Role(rawValue: self.role) else { throw CommandFailure.usage("--role: unknown") }
            let secret = APIKeySecret.make()
            let app = try await self.host.withStore(isChanging: true) { store in
                let app = try await self.app.id(in: store)
                let key = APIKey(app: app, name: self.name, role: role, created: .now, revoked: nil)
                do {
                    _ = try await store.act(.ofHost(.keyAdd, app: app, target: "\(self.name), \(role.rawValue)")) {
                        try await store.apply(.key(.add(key, hash: secret.hash)))
                    }
                } catch let error as StoreError where error.code == .conflict {
                    throw CommandFailure.failed(try await store.takenKeyName(self.name, app: app))
                }
                return app
            }
            Console.note(
                "\(self.name): created in \(app) as \(role.rawValue); its secret is on standard output, and is not shown again:"
            )
            let output = JSONValue.members([
                "app": .string(app.name), "name": .string(self.name), "role": .string(role.rawValue),
                "secret": .string(secret.text),
            ])
            self.host.show(output) { [secret.text] }
        }
    }
}
