import ArgumentParser
import PushlineClient

/// `pushline users`.
struct UsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users",
        abstract: "Remove a user with all that there is of them.",
        subcommands: [Remove.self]
    )

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Remove a user: devices, uploads, rich notifications, contents of sends, the account and the name.",
            discussion: """
                A job does it, and forgets the name too. Where an account has that name, only an operator's key may. Doing it again \
                is harmless.
                """
        )

        @OptionGroup var server: ServerOptions

        @Argument(help: "The user's name.")
        var user: String

        @OptionGroup var own: OwnAccountOption

        @Flag(help: "Wait until it is done.")
        var watch = false

        @Option(help: "With --watch: maximum wait, in seconds.")
        var within = 3600

        func validate() throws {
            guard self.within > 0 else { throw ValidationError("--within must be at least 1.") }
        }

        func run() async throws {
            let client = try self.server.client()
            let job = try await client.removeUser(self.user, isSelf: self.own.isSelf)
            guard self.watch else {
                return try self.server.show(job) { ["\(job.id): \(Console.safe(self.user)) is being removed"] }
            }
            try await JobWatch(client: client, options: self.server, time: .seconds(self.within)).run(job.id)
        }
    }
}
