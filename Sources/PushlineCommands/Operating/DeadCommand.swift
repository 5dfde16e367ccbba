import ArgumentParser
import PushlineClient

/// `pushline dead`.
struct DeadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead",
        abstract: "List, show, replay or discard dead letters.",
        subcommands: [List.self, DeadGroupsCommand.self, Show.self, ReplayOne.self, Discard.self],
        defaultSubcommand: List.self
    )

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List dead letters, newest first.")

        @OptionGroup var server: ServerOptions

        @OptionGroup var rest: DeadOfNoApp

        @Option(help: "Maximum number to list.")
        var limit: Int = 20

        func validate() throws {
            guard self.limit > 0 else { throw ValidationError("--limit must be at least 1.") }
        }

        func run() async throws {
            guard !self.rest.ofNoApp else { return try await self.rest.list(self.limit, self.server) }
            let client = try self.server.client()
            let letters = try await Pages.collect(self.limit) { limit, cursor in
                try await client.deadLetters(limit: limit, cursor: cursor)
            }
            try self.server.show(letters) {
                guard !letters.isEmpty else { return ["No dead letters."] }
                var table = Table(["id", "when", "queue", "message", "bytes", "replay", "reason"], numeric: [4])
                for letter in letters {
                    table.add([
                        letter.id, JobLines.moment(letter.at), DeadLetterLines.word(letter.queue),
                        DeadLetterLines.word(letter.message ?? ""), String(letter.bytes),
                        letter.canReplay ? "yes" : "no",
                        DeadLetterLines.word(letter.reason),
                    ])
                }
                return table.lines
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a dead letter: its reason and its job."
        )

        @OptionGroup var server: ServerOptions

        @Argument(help: "The dead letter's number.")
        var id: String

        func run() async throws {
            let letter = try await self.server.client().deadLetter(self.id)
            try self.server.show(letter) { DeadLetterLines(letter: letter).lines }
        }
    }

    struct ReplayOne: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "replay",
            abstract: "Replay a dead letter, or all that match.",
            discussion: """
                The devices of a batch are tried again, and a registration or a send is queued again; its job runs on. \
                It is refused where the job was cancelled or its time is over. Fix the cause first; otherwise the message is \
                dead-lettered again under a new number.

                With --queue, --type or --reason it replays all that match and are there now; those that are refused stay.
                """
        )

        @OptionGroup var server: ServerOptions
        @OptionGroup var matching: DeadLetterMatching

        @Argument(help: "The dead letter's number.")
        var id: String?

        func validate() throws { try self.matching.check(self.id) }

        func run() async throws {
            guard let id = self.id else { return try await self.matching.replay(self.server) }
            let replay = try await self.server.client().replay(deadLetter: id)
            try self.server.show(replay) {
                let devices = replay.devices.map { ", \($0) devices" } ?? ""
                return [Console.safe("\(id): replayed\(devices); pushline job \(replay.job) shows how it goes on")]
            }
        }
    }

    struct Discard: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a dead letter for good, or all that match. The counts of their jobs stay."
        )

        @OptionGroup var server: ServerOptions

        @OptionGroup var rest: DeadOfNoApp
        @OptionGroup var matching: DeadLetterMatching

        @Argument(help: "The dead letter's number.")
        var id: String?

        func validate() throws {
            try self.matching.check(self.id)
            guard !self.rest.ofNoApp || self.id != nil else { throw ValidationError("--of-no-app takes a number.") }
        }

        func run() async throws {
            guard let id = self.id else { return try await self.matching.discard(self.server) }
            guard !self.rest.ofNoApp else { return try await self.rest.discard(id, self.server) }
            try await self.server.client().discard(deadLetter: id)
            try self.server.show(["discarded": id]) { [Console.safe("\(id): discarded")] }
        }
    }
}

/// A dead letter as lines.
struct DeadLetterLines {
    let letter: DeadLetter

    /// A message of somebody else's may have no words.
    static func word(_ text: String) -> String { text.isEmpty ? "-" : text }

    var lines: [String] {
        let (letter, contents) = (self.letter, self.letter.contents)
        let rows: [(String, String?)] = [
            ("dead letter", letter.id), ("app", letter.app), ("when", JobLines.moment(letter.at)),
            ("queue", letter.queue), ("type", letter.type), ("message", letter.message), ("job", letter.job),
            ("reason", letter.reason), ("size", "\(letter.bytes) bytes"),
            (
                "replay",
                letter.canReplay ? "possible" : "not possible: \(letter.blockedReason ?? "nothing is left to do")"
            ),
            ("devices", contents?.devices.map(String.init)), ("batches", contents?.batches.map(String.init)),
            ("service", contents?.service?.rawValue), ("priority", contents?.priority),
            ("page", contents?.page.map(String.init)), ("attempt", contents?.attempt.map(String.init)),
            ("payload", contents?.payloadBytes.map { "\($0) bytes" }),
            ("handles", contents?.handles.map { $0.joined(separator: " ") }), ("body", contents?.unreadable),
        ]
        return rows.compactMap { name, value in
            value.map { name + String(repeating: " ", count: 14 - name.count) + Console.safe(Self.word($0)) }
        }
    }
}
