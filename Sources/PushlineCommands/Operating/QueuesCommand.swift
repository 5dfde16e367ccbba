import ArgumentParser
import Foundation
import PushModel
import PushlineClient
import Store

/// `pushline queues`.
struct QueuesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queues",
        abstract: "List queues, and pause or resume an app's work in them.",
        subcommands: [List.self, PauseOne.self, Resume.self],
        defaultSubcommand: List.self
    )

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the queues with the app's work in them."
        )

        @OptionGroup var server: ServerOptions

        func run() async throws {
            let list = try await self.server.client().queues()
            let queues = list.items
            if let fault = list.brokerFault {
                Console.note(Console.safe("pushline: \(fault); work waits in the store until that is over"))
            }
            try self.server.show(queues) {
                var table = Table(["queue", "state", "waiting", "open", "deferred"], numeric: [2, 3, 4])
                for queue in queues {
                    table.add([
                        queue.name, QueueText.state(queue), String(queue.waiting), queue.open.map(String.init),
                        queue.deferred.map(String.init),
                    ])
                }
                return table.lines
            }
        }
    }

    struct PauseOne: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "pause",
            abstract: "Pause a queue for the app until it is resumed.",
            discussion: """
                It takes effect in all processes within two seconds and outlives their restarts. Nothing fails and nothing is lost: \
                jobs wait, and say why. They still end when their time is over, or when they are cancelled.
                """
        )

        @OptionGroup var target: QueueTarget

        func run() async throws { try await self.target.run(pausing: true) }
    }

    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Resume a queue for the app."
        )

        @OptionGroup var target: QueueTarget

        func run() async throws { try await self.target.run(pausing: false) }
    }
}

/// The queue to pause or resume, and its app.
struct QueueTarget: ParsableArguments {
    private static let names = WorkQueue.allCases.map(\.description)

    @OptionGroup var server: ServerOptions

    @Argument(help: "\(Self.names.joined(separator: ", ")).", completion: KnownValues.queues)
    var queue: String

    @Flag(help: "Change all apps, in the store of this host instead of over the API.")
    var allApps = false

    @Option(
        help: "With --all-apps: the server's configuration file.",
        completion: KnownValues.yamlFiles
    )
    var config: String?

    func validate() throws {
        guard WorkQueue(self.queue) != nil else {
            throw ValidationError("There is no queue \(self.queue); there are \(Self.names.joined(separator: ", ")).")
        }
        guard self.allApps || self.config == nil else { throw ValidationError("--config goes with --all-apps.") }
        guard !self.allApps || self.server.app == nil else { throw ValidationError("Give --app or --all-apps.") }
    }

    func run(pausing: Bool) async throws {
        guard !self.allApps else { return try await self.runOnHost(pausing: pausing) }
        let client = try self.server.client()
        let queue = pausing ? try await client.pause(queue: self.queue) : try await client.resume(queue: self.queue)
        try self.server.show(queue) { [Console.safe("\(queue.name): \(QueueText.state(queue))")] }
    }

    private func runOnHost(pausing: Bool) async throws {
        guard let queue = WorkQueue(self.queue) else { throw CommandFailure.usage("no such queue") }
        let host = try HostOptions.parse(
            (self.config.map { ["--config", $0] } ?? []) + ["--format", self.server.format.rawValue]
        )
        let (wasPaused, pauses) = try await host.withStore(isChanging: true) { store in
            let act = NewAct.ofHost(pausing ? .queuePause : .queueResume, target: "\(queue), all apps")
            let isChanged = try await store.act(act) {
                try await store.apply(
                    .pause(pausing ? .begin(queue, app: nil, by: NewAct.hostUser) : .end(queue, app: nil))
                )
            }
            return (pausing || isChanged, try await store.pauses().filter { $0.queue == queue })
        }
        let own = pauses.compactMap(\.app).sorted().map(\.name)
        host.show(
            .members([
                "name": .string(self.queue), "allApps": .bool(pauses.contains { $0.app == nil }),
                "apps": .array(own.map { .string($0) }), "paused": .bool(!pauses.isEmpty),
            ])
        ) {
            let whose = own.joined(separator: ", ")
            let rest = own.isEmpty ? "" : "; \(whose): paused on its own \(pausing ? "too" : "still")"
            let change = pausing ? "paused" : wasPaused ? "resumed" : "was not paused"
            return ["\(queue): \(change) for all apps\(rest)"]
        }
    }
}

/// A queue's state in words.
enum QueueText {
    static func state(_ queue: QueueStatus) -> String {
        guard queue.paused else { return "working" }
        // The pauses are independent of each other.
        let pauses = queue.pauses.sorted { $0.allApps && !$1.allApps }
        let words = pauses.map { pause in
            let whose = pause.allApps ? "for all apps" : pause.by.map { "by \($0)" } ?? "for the app"
            return "\(whose) since \(JobLines.moment(pause.since))"
        }
        return "paused" + (words.isEmpty ? "" : " " + words.joined(separator: ", and "))
    }
}
