import ArgumentParser
import PushModel
import PushServices

/// `pushline channels`.
struct ChannelsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "channels",
        abstract: "Create, list, show or delete broadcast channels at Apple, with the app's credentials on this host.",
        discussion: """
            Live Activities listen to a channel (iOS 18 and later); one push to it reaches them all:
            pushline send --channel ID --activity update --state '{"gate": 8}', or to.channel in POST /api/sends. Apple has the channels, Pushline \
            keeps none.
            """,
        subcommands: [Create.self, List.self, Show.self, Delete.self]
    )

    /// Whose channels, and at which of Apple's services.
    struct Owner: ParsableArguments {
        @OptionGroup var host: HostOptions
        @OptionGroup var app: AppOption

        @Option(help: "Which of the app's credentials at APNs. Default: the default one.")
        var credential: String?

        /// Calls Apple.
        ///
        /// - Parameter work: The calls.
        /// - Returns: The work's result.
        /// - Throws: ``CommandFailure`` with what is wrong.
        func withChannels<Value: Sendable>(
            _ work: (APNsChannels) async throws(APNsChannels.Fault) -> Value
        ) async throws -> Value {
            let (app, spec) = try await self.host.withStore { store in try await self.app.declared(in: store) }
            let channels: APNsChannels
            do {
                let name = try spec.credential(self.credential, of: .apns)
                guard let declared = spec.credentials[.apns, name] as? AppSpec.APNs else {
                    throw CommandFailure.failed("\(app): \(PushService.apns.noCredentialsReason(name))")
                }
                channels = try APNsChannels(declared)
            } catch let error as InvalidValue {
                throw CommandFailure.usage("--credential: \(error.reason)")
            } catch let error as SenderError {
                throw CommandFailure.failed("\(app): \(error.message)")
            }
            let result: Result<Value, APNsChannels.Fault>
            do { result = .success(try await work(channels)) } catch { result = .failure(error) }
            await channels.close()
            do { return try result.get() } catch { throw CommandFailure.failed("\(app): \(error)") }
        }
    }

    /// Reads the argument of a command about one channel.
    static func id(_ text: String) throws -> APNsChannelID {
        do { return try APNsChannelID(text) } catch { throw ValidationError("A channel \(error.reason).") }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a channel. Apple chooses its id.",
            discussion:
                "Only the id goes to standard output: CHANNEL=$(pushline channels create). A bundle id has at most 10,000 channels in each of Apple's environments."
        )

        @OptionGroup var owner: Owner

        @Option(
            help:
                "What Apple keeps for devices that are off: none (which allows more pushes), or latest, the last push with a ttl, for at most 8 hours. It cannot be changed.",
            completion: .list(APNsChannels.Storage.allCases.map(\.name))
        )
        var storage = APNsChannels.Storage.none.name

        func validate() throws {
            try KnownValues.check(self.storage, "--storage", APNsChannels.Storage.allCases.map(\.name))
        }

        func run() async throws {
            let storage = APNsChannels.Storage.allCases.first { $0.name == self.storage } ?? .none
            let id = try await self.owner.withChannels { channels throws(APNsChannels.Fault) in
                try await channels.create(storage)
            }
            let output = JSONValue.members(["id": .string(id.text), "storage": .string(storage.name)])
            self.owner.host.show(output) { [id.text] }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the ids of all channels of the bundle id.")

        @OptionGroup var owner: Owner

        func run() async throws {
            let ids = try await self.owner.withChannels { channels throws(APNsChannels.Fault) in
                try await channels.all()
            }
            self.owner.host.show(.array(ids.map { .members(["id": .string($0.text)]) })) { ids.map(\.text) }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show what a channel keeps.")

        @OptionGroup var owner: Owner

        @Argument(help: "The channel's id.")
        var id: String

        func validate() throws { _ = try ChannelsCommand.id(self.id) }

        func run() async throws {
            let id = try ChannelsCommand.id(self.id)
            let storage = try await self.owner.withChannels { channels throws(APNsChannels.Fault) in
                try await channels.storage(of: id)
            }
            let output = JSONValue.members(["id": .string(id.text), "storage": .string(storage.name)])
            self.owner.host.show(output) { ["\(id): storage \(storage.name)"] }
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a channel for good: pushes to it are refused, and its id is never given again."
        )

        @OptionGroup var owner: Owner

        @Argument(help: "The channel's id.")
        var id: String

        func validate() throws { _ = try ChannelsCommand.id(self.id) }

        func run() async throws {
            let id = try ChannelsCommand.id(self.id)
            try await self.owner.withChannels { channels throws(APNsChannels.Fault) in try await channels.delete(id) }
            self.owner.host.show(.members(["id": .string(id.text)])) { ["\(id): deleted"] }
        }
    }
}
