import ArgumentParser
import Foundation
import PushModel
import PushlineClient

/// `pushline registrations`.
struct RegistrationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "registrations",
        abstract: "Register devices for users; list, tag, delete, import or export registrations.",
        subcommands: [List.self, Put.self, Tag.self, Delete.self, Import.self, Export.self]
    )

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List registrations.")

        @OptionGroup var server: ServerOptions

        @Option(help: "Only those of this user.")
        var user: String?

        @Option(help: "Only those with this tag.")
        var tag: String?

        @Option(help: "Those of this push service: \(PushService.list()).", completion: KnownValues.services)
        var service: String?

        @Option(help: "The live registrations with this handle, given whole.")
        var handle: String?

        @Option(
            help: "live, pruned, expired, replaced or deleted. Default: all but the deleted.",
            completion: KnownValues.registrationStates
        )
        var state: String?

        @Option(help: "Maximum number to list.")
        var limit: Int = 100

        func validate() throws {
            guard self.limit > 0 else { throw ValidationError("--limit must be at least 1.") }
            try KnownValues.check(self.state, "--state", KnownValues.registrationStateNames)
            try KnownValues.check(service: self.service)
        }

        func run() async throws {
            let client = try self.server.client()
            let found = try await Pages.collect(self.limit) { limit, cursor in
                try await client.registrations(
                    user: self.user,
                    tag: self.tag,
                    service: self.service.map(PushNotification.Service.init(rawValue:)),
                    handle: self.handle,
                    state: self.state,
                    limit: limit,
                    cursor: cursor
                )
            }
            try self.server.show(found) {
                RegistrationsCommand.lines(found)
            }
        }
    }

    struct Put: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Register a device for a user.",
            discussion: """
                Everything about the registration is replaced. Without --id, the live registration with the handle is replaced, or a \
                new one is created.
                """
        )

        @OptionGroup var server: ServerOptions

        @Argument(help: "The device's push service: \(PushService.list()).", completion: KnownValues.services)
        var service: String

        @Argument(help: "The address that the push service gave the device; - = read it from standard input.")
        var handle: String

        @Option(help: "The registration's id: 1 to 128 letters, digits, -, _, . and ~.")
        var id: String?

        @Option(help: "The user whose device it is. Default: the account that asks; with a key, no user.")
        var user: String?

        @Option(help: "The app's credential that reaches it. Default: the default one.")
        var credential: String?

        @Option(help: "A tag; may be repeated.")
        var tag: [String] = []

        func validate() throws {
            guard PushService(rawValue: self.service) != nil else {
                throw ValidationError("The push service is \(PushService.list()).")
            }
        }

        func run() async throws {
            let client = try self.server.client()
            let handle = self.handle == "-" ? readLine() ?? "" : self.handle
            let device = Device(
                service: .init(rawValue: self.service),
                handle: handle,
                credential: self.credential,
                tags: self.tag
            )
            let registration =
                if let id = self.id {
                    try await client.putRegistration(id, device, user: self.user)
                } else {
                    try await client.createRegistration(device, user: self.user)
                }
            try self.server.show(registration) { RegistrationsCommand.lines([registration]) }
        }
    }

    struct Tag: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add tags to a live registration, remove others, or give it another credential."
        )

        @OptionGroup var server: ServerOptions

        @Argument(help: "The registration's id.")
        var id: String

        @Option(help: "A tag to add; may be repeated.")
        var add: [String] = []

        @Option(help: "A tag to remove; may be repeated.")
        var remove: [String] = []

        @Option(help: "The app's credential that reaches it from now on; default = the default one.")
        var credential: String?

        func validate() throws {
            guard !self.add.isEmpty || !self.remove.isEmpty || self.credential != nil else {
                throw ValidationError("Name a tag, --add TAG or --remove TAG, or a --credential.")
            }
        }

        func run() async throws {
            let registration = try await self.server.client().patchRegistration(
                self.id,
                adding: self.add,
                removing: self.remove,
                credential: self.credential
            )
            try self.server.show(registration) { RegistrationsCommand.lines([registration]) }
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a registration for good. The device must ask for a new id."
        )

        @OptionGroup var server: ServerOptions

        @Argument(help: "The registration's id.")
        var id: String

        func run() async throws {
            try await self.server.client().deleteRegistration(self.id)
            try self.server.show(["deleted": self.id]) { ["\(Console.safe(self.id)): deleted"] }
        }
    }
}
