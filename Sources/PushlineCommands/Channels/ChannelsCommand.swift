import ArgumentParser
import Foundation
import PushlineClient

import struct PushModel.APNsChannelID

/// `pushline channels`.
struct ChannelsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "channels",
        abstract: "Create, list, show or delete broadcast channels at Apple.",
        discussion: """
            Live Activities listen to a channel (iOS 18 and later); one push to it reaches them all:
            pushline send --channel ID --activity update --state '{"gate": 8}', or to.channel in POST /api/sends. Apple keeps the channels; \
            Pushline stores none.
            """,
        subcommands: [Create.self, List.self, Show.self, Delete.self]
    )

    /// The server, and which of the app's channels.
    struct Owner: ParsableArguments {
        @OptionGroup var server: ServerOptions

        @Option(help: "Which of the app's credentials at APNs. Default: the default one.")
        var credential: String?
    }

    /// A channel that a command is about.
    struct Named: ParsableArguments {
        @Argument(help: "The channel's id.")
        var id: String

        func validate() throws {
            guard (try? APNsChannelID(self.id)) != nil else {
                throw ValidationError("ID must be the id of a broadcast channel as Apple gives it: Base64.")
            }
        }
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
            completion: KnownValues.channelStorage
        )
        var storage = BroadcastChannel.Storage.nothing.rawValue

        @Option(
            help:
                "Idempotency key: repeating the command with the same key makes no second channel. Default: a new one."
        )
        var idempotencyKey: String?

        func validate() throws {
            try KnownValues.check(self.storage, "--storage", KnownValues.channelStorageNames)
        }

        func run() async throws {
            let channel = try await self.owner.server.client().createChannel(
                storage: BroadcastChannel.Storage(rawValue: self.storage) ?? .nothing,
                credential: self.owner.credential,
                idempotencyKey: self.idempotencyKey ?? UUID().uuidString
            )
            try self.owner.server.show(channel) { [Console.safe(channel.id)] }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the ids of the bundle id's channels.")

        @OptionGroup var owner: Owner

        @Option(help: "Maximum number to list.")
        var limit = 10_000

        func validate() throws {
            guard self.limit > 0 else { throw ValidationError("--limit must be at least 1.") }
        }

        func run() async throws {
            let client = try self.owner.server.client()
            let found = try await Pages.collect(self.limit) { limit, cursor in
                try await client.channels(credential: self.owner.credential, limit: limit, cursor: cursor)
            }
            try self.owner.server.show(found) { found.map { Console.safe($0.id) } }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show a channel and its storage.")

        @OptionGroup var owner: Owner
        @OptionGroup var named: Named

        func run() async throws {
            let client = try self.owner.server.client()
            let channel = try await client.channel(self.named.id, credential: self.owner.credential)
            try self.owner.server.show(channel) {
                ["\(Console.safe(channel.id)): storage \(channel.storage?.rawValue ?? "unknown")"]
            }
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a channel for good: pushes to it are refused, and its id is never given again."
        )

        @OptionGroup var owner: Owner
        @OptionGroup var named: Named

        func run() async throws {
            let client = try self.owner.server.client()
            try await client.deleteChannel(self.named.id, credential: self.owner.credential)
            try self.owner.server.show(["deleted": self.named.id]) { ["\(self.named.id): deleted"] }
        }
    }
}
