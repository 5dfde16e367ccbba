import ArgumentParser
import Authentication
import PushModel
import Settings
import Store

/// `pushline console`.
struct ConsoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "console",
        abstract: "Make a link on this host that signs an operator or a viewer in to the console, once.",
        discussion: "It is good for five minutes, and for one browser. Only the link goes to standard output."
    )

    @OptionGroup var host: HostOptions
    @OptionGroup var app: AppOption

    @Option(name: .customLong("as"), help: "The account to sign in as: an operator or a viewer.")
    var account: String

    /// For how long a link is good.
    private static let lifetime = Duration.seconds(300)

    func run() async throws {
        let configuration = try self.host.configuration()
        let settings = configuration.api
        guard settings.consolePort != 0 else {
            throw CommandFailure.failed(
                "there is no console: api.console_port (PUSHLINE_API_CONSOLE_PORT) says on which port it is"
            )
        }
        let secret = SessionSecret.make()
        let app = try await self.host.withStore(of: configuration, isChanging: true) { store in
            let (app, spec) = try await self.app.declared(in: store)
            try await self.open(secret, app: app, spec: spec, in: store)
            return app
        }
        let scheme = settings.certificateFile == nil ? "http" : "https"
        let name = settings.consoleHost.contains(":") ? "[\(settings.consoleHost)]" : settings.consoleHost
        let folder = app == .default ? "" : "\(app.name)/"
        let link = "\(scheme)://\(name):\(settings.consolePort)/console/\(folder)#link=\(secret.text)"
        self.host.show(.members(["app": .string(app.name), "link": .string(link)])) { [link] }
    }

    /// Keeps the link's secret, as a session that opens another one.
    private func open(_ secret: SessionSecret, app: AppID, spec: AppSpec, in store: any ResultStore) async throws {
        guard spec.authentication == .accounts else {
            throw CommandFailure.failed("\(app) has the demonstration scheme: the console needs accounts")
        }
        let name = try UserName(self.account, spec.users)
        guard let found = try await store.account(name, app: app), !found.account.isDisabled else {
            throw CommandFailure.failed("\(app) has no account \(name) that may sign in: pushline accounts add")
        }
        guard [.operator, .viewer].contains(found.account.role) else {
            let role = found.account.role.rawValue
            throw CommandFailure.failed("\(name) is a \(role), and the console is for operators and viewers")
        }
        let link = NewSession(
            app: app,
            user: found.account.name,
            hash: secret.hash(for: .link),
            passwordHash: found.passwordHash,
            lifetime: Self.lifetime,
            idle: Self.lifetime,
            limit: 20
        )
        let session = try await store.act(.ofHost(.consoleLink, app: app, user: found.account.name)) {
            try await store.openSession(link)
        }
        guard session != nil else { throw CommandFailure.failed("the account was changed meanwhile: try again") }
    }
}
