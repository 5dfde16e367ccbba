import ArgumentParser
import Foundation
import PushModel
import PushlineClient

/// `pushline jobs`.
struct JobsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "jobs",
        abstract: "List or cancel jobs; pushline job ID shows one.",
        subcommands: [ListJobsCommand.self, CancelJobCommand.self],
        defaultSubcommand: ListJobsCommand.self
    )
}

/// `pushline jobs`, and `pushline jobs list`.
struct ListJobsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List sends, or all jobs, newest first.",
        discussion: "--format json prints an array of jobs without a cursor: for more raise --limit, or give --since."
    )

    /// Any kind of job.
    static let allKinds = "all"

    @OptionGroup var server: ServerOptions

    @Option(
        help: "scheduled, queued, running, retrying, cancelling, expiring, completed, abandoned, cancelled or expired.",
        completion: KnownValues.jobStates
    )
    var state: String?

    @Option(help: "send, register or all.", completion: .list(Self.kinds))
    var kind = JobKind.send.rawValue

    @Option(
        help: "Those that went through this push service: \(PushService.list(PushService.inService)).",
        completion: KnownValues.sendingServices
    )
    var service: String?

    @Option(help: "Only those by this user.")
    var user: String?

    @Option(help: "Only sends with this label.")
    var label: String?

    @Flag(help: "Only sends of which something failed, expired or was abandoned.")
    var failures = false

    @OptionGroup var list: RecentOptions

    private static let kinds = JobKind.allCases.map(\.rawValue) + [Self.allKinds]

    func validate() throws {
        try KnownValues.check(self.state, "--state", KnownValues.jobStateNames)
        try KnownValues.check(self.kind, "--kind", Self.kinds)
        try KnownValues.check(service: self.service)
    }

    func run() async throws {
        let client = try self.server.client()
        let jobs = try await Pages.collect(self.list.limit) { limit, cursor in
            try await client.jobs(
                state: self.state,
                kind: self.kind == Self.allKinds ? nil : self.kind,
                service: self.service.map(PushNotification.Service.init(rawValue:)),
                user: self.user,
                label: self.label,
                failures: self.failures,
                since: self.list.moment,
                limit: limit,
                cursor: cursor
            )
        }
        try self.server.show(jobs) {
            var table = Table(
                ["job", "when", "kind", "state", "targets", "accepted", "failed", "asked by", "to"],
                numeric: [4, 5, 6],
                narrow: [7, 8]
            )
            for job in jobs {
                let text = JobLines(job: job)
                table.add([
                    job.id, JobLines.moment(job.accepted), job.kind, text.state, job.totals.map { String($0.targets) },
                    job.totals.map { String($0.accepted) },
                    job.totals.map { String($0.failed.values.reduce(0, &+)) },
                    job.user ?? job.key, text.target,
                ])
            }
            return table.lines
        }
    }
}

/// `pushline jobs cancel`.
struct CancelJobCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Cancel a send that has not finished, or all that match.",
        discussion: """
            Unsent devices in batches count as cancelled; devices not yet in a batch are not counted. `pushline job ID` shows \
            how many were reached. Its state is cancelling while devices at a worker are counted; `pushline job ID --watch` \
            shows how it ends. A final job cannot be cancelled.

            With --label, --state, --by-key or --user it cancels all unfinished sends that match and are there now; --dry-run only counts them.
            """
    )

    @OptionGroup var server: ServerOptions

    @Option(help: "All sends with this label.")
    var label: String?

    @Option(help: "All sends in this state, such as queued.", completion: KnownValues.jobStates)
    var state: String?

    @Option(help: "All sends that the key of this name asked for.")
    var byKey: String?

    @Option(help: "All sends that this user asked for; those to a user are not looked for.")
    var user: String?

    @Flag(help: "Count those that match, and cancel none.")
    var dryRun = false

    @Argument(help: "The job's id.")
    var id: String?

    private var filter: JobFilter {
        JobFilter(label: self.label, state: self.state, key: self.byKey, user: self.user)
    }

    func validate() throws {
        try KnownValues.check(self.state, "--state", KnownValues.jobStateNames)
        guard (self.id == nil) == (self.filter != JobFilter()) else {
            throw ValidationError(
                "Give the id of one send, or --label, --state, --by-key or --user for all that match."
            )
        }
        guard self.id == nil || !self.dryRun else { throw ValidationError("--dry-run goes with all that match.") }
    }

    func run() async throws {
        guard let id = self.id else { return try await self.cancelAll() }
        let job = try await self.server.withJob(id) { try await $0.cancel(id) }
        try self.server.show(job) { ["\(job.id)  \(JobLines(job: job).progress)"] }
    }

    private func cancelAll() async throws {
        let client = try self.server.client()
        var (matched, cancelled, isComplete) = (0, 0, true)
        if let last = try await client.jobs(kind: "send", limit: 1).items.first?.id {
            while true {
                let part = try await client.cancel(self.filter, upTo: last, dryRun: self.dryRun)
                matched += part.matched
                cancelled += part.cancelled
                isComplete = part.isComplete
                guard !self.dryRun, !part.isComplete || part.left > 0, part.matched > 0 else { break }
                // They are counted again.
                matched -= part.left
            }
        }
        try self.server.show(["matched": matched, "cancelled": cancelled]) {
            let count = "\(isComplete ? "" : "at least ")\(Plural.of(matched, "send"))"
            return [self.dryRun ? "\(count) would be cancelled" : "\(count) found, \(cancelled) cancelled"]
        }
    }
}

/// `pushline job`.
struct JobCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "job",
        abstract: "Show a job: its progress and the outcomes of its devices."
    )

    @OptionGroup var server: ServerOptions

    @Argument(help: "The job's id.")
    var id: String

    @Flag(help: "List recorded device outcomes: failures, or all devices where the app records all.")
    var deliveries = false

    @Option(help: "With --deliveries: maximum number to list.")
    var limit: Int = 100

    @Flag(help: "Follow the progress until the outcome is final.")
    var watch = false

    @Option(help: "With --watch: maximum wait, in seconds.")
    var within: Int = 3600

    func validate() throws {
        guard self.limit > 0, self.within > 0 else { throw ValidationError("--limit and --within must be at least 1.") }
        guard !(self.watch && self.deliveries) else { throw ValidationError("Give --watch or --deliveries, not both.") }
    }

    func run() async throws {
        try await self.server.withJob(self.id, self.show)
    }

    private func show(_ client: PushlineClient) async throws {
        if self.watch {
            return try await JobWatch(client: client, options: self.server, time: .seconds(self.within)).run(self.id)
        }
        guard self.deliveries else {
            let job = try await client.job(self.id)
            return try self.server.show(job) { JobLines(job: job).lines }
        }
        let found = try await Pages.collect(self.limit) { limit, cursor in
            try await client.deliveries(of: self.id, limit: limit, cursor: cursor)
        }
        try self.server.show(found) {
            guard !found.isEmpty else {
                return [
                    "No devices are listed: those that failed are, with the app's recording: all also those that were accepted, "
                        + "and never those that are open, cancelled or expired."
                ]
            }
            var table = Table(
                ["at", "service", "registration", "user", "place", "reference", "outcome", "status", "reason"],
                numeric: [4, 7]
            )
            for delivery in found {
                table.add([
                    JobLines.moment(delivery.at), delivery.service.rawValue, delivery.registration, delivery.user,
                    delivery.place.map(String.init), delivery.reference, delivery.outcome,
                    delivery.status.map(String.init), delivery.reason,
                ])
            }
            return table.lines
        }
    }
}
