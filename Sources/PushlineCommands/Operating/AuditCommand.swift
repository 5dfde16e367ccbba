import ArgumentParser
import Foundation
import PushModel
import PushlineClient
import Store

/// `pushline audit`.
struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "List what operators have done, newest first.",
        discussion: """
            Each act of an operator has an entry for a year: who, from where, what, and what became of it. One that stays begun was \
            broken off, and nobody knows how much of it was done. --all lists the acts of all apps and of this host, out of its store.
            """
    )

    @OptionGroup var server: ServerOptions

    @Option(help: "Only by NAME, or by account:NAME, key:NAME or host:NAME.")
    var by: String?

    @Option(help: "Only acts of this kind, such as queue.pause.", completion: .list(ActKind.all.map(\.rawValue)))
    var action: String?

    @Option(help: "begun, done or refused.", completion: .list(Self.states))
    var state: String?

    @Option(help: "Only acts that concerned this job.")
    var job: String?

    @OptionGroup var list: RecentOptions

    @Flag(help: "Of all apps and of the host, in the store of this host instead of over the API.")
    var all = false

    @Option(help: "With --all: the server's configuration file.", completion: KnownValues.yamlFiles)
    var config: String?

    private static let states = Act.State.allCases.map(\.rawValue)

    func validate() throws {
        try KnownValues.check(self.state, "--state", Self.states)
        try KnownValues.check(self.action, "--action", ActKind.all.map(\.rawValue))
        guard self.all || self.config == nil else { throw ValidationError("--config goes with --all.") }
        guard !self.all || self.server.app == nil else { throw ValidationError("Give --app or --all.") }
        guard !self.all || self.job == nil else { throw ValidationError("Give --job or --all: a job is of one app.") }
    }

    func run() async throws {
        let entries = try await self.all ? self.ofHost() : self.ofApp()
        try self.server.show(entries) {
            guard !entries.isEmpty else { return ["No entry matches."] }
            var table = Table(
                ["when", "by", "from", "action", "on", "state", "result"] + (self.all ? ["app"] : []),
                narrow: [1, 4]
            )
            for entry in entries {
                let on = [entry.user, entry.target].compactMap(\.self).joined(separator: " ")
                table.add(
                    [
                        JobLines.moment(entry.at), entry.by, entry.from, entry.action, on.isEmpty ? nil : on,
                        entry.state, entry.result,
                    ] + (self.all ? [entry.app] : [])
                )
            }
            return table.lines
        }
    }

    private func ofApp() async throws -> [AuditEntry] {
        let client = try self.server.client()
        return try await Pages.collect(self.list.limit) { limit, cursor in
            try await client.audit(
                by: self.by,
                action: self.action,
                state: self.state,
                since: self.list.moment,
                job: self.job,
                limit: limit,
                cursor: cursor
            )
        }
    }

    /// Whom a name may mean: with its kind that one, without it any of that name.
    private static func authors(_ name: String) -> [String] {
        ActQuery.kind(of: name) != nil ? [name] : ["account", "key", "host"].map { "\($0):\(name)" }
    }

    private func ofHost() async throws -> [AuditEntry] {
        let host = try HostOptions.parse(
            (self.config.map { ["--config", $0] } ?? []) + ["--format", self.server.format.rawValue]
        )
        return try await host.withStore { store in
            var (entries, cursor) = ([AuditEntry](), String?.none)
            repeat {
                let page = try await store.acts(
                    ActQuery(
                        app: nil,
                        by: self.by.map(Self.authors) ?? [],
                        kind: self.action.map(ActKind.init(rawValue:)),
                        state: self.state.flatMap(Act.State.init(rawValue:)),
                        since: self.list.moment.map { Timestamp(milliseconds: Int64($0.timeIntervalSince1970 * 1000)) },
                        cursor: cursor,
                        limit: min(1000, self.list.limit - entries.count)
                    )
                )
                entries += page.items.map { AuditEntry($0) }
                cursor = page.cursor
            } while cursor != nil && entries.count < self.list.limit
            return entries
        }
    }
}

extension AuditEntry {
    /// An entry out of the store itself.
    fileprivate init(_ entry: Act) {
        self.init(
            id: String(entry.id),
            app: entry.act.app?.name,
            at: entry.at.date,
            by: entry.act.by,
            via: entry.act.via.rawValue,
            from: entry.act.origin,
            action: entry.act.kind.rawValue,
            user: entry.act.user?.name,
            target: entry.act.target,
            state: entry.state.rawValue,
            ended: entry.ended?.date,
            result: entry.result,
            request: entry.act.request?.description
        )
    }
}

extension Timestamp {
    fileprivate var date: Date { Date(timeIntervalSince1970: Double(self.milliseconds) / 1000) }
}
