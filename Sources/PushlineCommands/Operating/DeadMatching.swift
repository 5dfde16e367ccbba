import ArgumentParser
import PushlineClient

/// `pushline dead groups`.
struct DeadGroupsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "groups",
        abstract: "List dead letters by queue, type and reason, the most numerous first."
    )

    @OptionGroup var server: ServerOptions

    func run() async throws {
        let groups = try await self.server.client().deadLetterGroups()
        if !groups.isComplete { Console.note("pushline: there are more than the newest, which are shown") }
        try self.server.show(groups) {
            guard !groups.items.isEmpty else { return ["No dead letters."] }
            var table = Table(["count", "replay", "newest", "queue", "type", "reason"], numeric: [0, 1])
            for group in groups.items {
                table.add([
                    String(group.count), String(group.replayable), JobLines.moment(group.newest),
                    DeadLetterLines.word(group.queue), DeadLetterLines.word(group.type),
                    DeadLetterLines.word(group.reason),
                ])
            }
            return table.lines
        }
    }
}

/// All dead letters that have something in common, as far as they are there when the command begins.
struct DeadLetterMatching: ParsableArguments {
    @Option(help: "All from this queue, as pushline dead groups shows it.")
    var queue: String?

    @Option(help: "All of this type.")
    var type: String?

    @Option(help: "All with this reason, whole.")
    var reason: String?

    private var filter: DeadLetterFilter {
        DeadLetterFilter(queue: self.queue, type: self.type, reason: self.reason)
    }

    /// - Throws: `ValidationError` where neither one nor a filter is named, or both.
    func check(_ id: String?) throws {
        guard (id == nil) == (self.filter != DeadLetterFilter()) else {
            throw ValidationError("Give the number of one, or --queue, --type or --reason for all that match.")
        }
    }

    func replay(_ server: ServerOptions) async throws {
        let client = try server.client()
        var (replayed, refused, refusals) = (0, 0, [BulkReplay.Refusal]())
        try await self.eachPart(client) { last, next in
            let part = try await client.replay(self.filter, upTo: last, after: next)
            replayed += part.replayed
            refused += part.refused
            refusals += part.refusals
            return part.next
        }
        let members = ["replayed": replayed, "refused": refused]
        try server.show(members) {
            ["\(replayed) replayed, \(refused) cannot be and stay"]
                + refusals.map { Console.safe("\($0.id): \($0.reason)") }
        }
    }

    func discard(_ server: ServerOptions) async throws {
        let client = try server.client()
        var discarded = 0
        try await self.eachPart(client) { last, next in
            let part = try await client.discard(self.filter, upTo: last, after: next)
            discarded += part.discarded
            return part.next
        }
        try server.show(["discarded": discarded]) { ["\(discarded) discarded"] }
    }

    /// Does a part after the other, of what is there now.
    private func eachPart(
        _ client: PushlineClient,
        _ part: (_ last: String, _ next: String?) async throws -> String?
    ) async throws {
        guard let last = try await client.deadLetters(limit: 1).items.first?.id else { return }
        var next = try await part(last, nil)
        while let from = next { next = try await part(last, from) }
    }
}
