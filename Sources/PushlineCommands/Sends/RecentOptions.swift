import ArgumentParser
import Foundation

/// The common options of lists of events: a start time and a limit.
struct RecentOptions: ParsableArguments {
    @Option(help: "Only those since a time (2026-11-21T08:30:00Z) or age (90s, 30m, 2h, 7d).")
    var since: String?

    @Option(help: "Maximum number to list.")
    var limit: Int = 20

    var moment: Date? { self.since.flatMap { Moment.parse($0) } }

    func validate() throws {
        guard self.limit > 0 else { throw ValidationError("--limit must be at least 1.") }
        if let since = self.since, Moment.parse(since) == nil {
            throw ValidationError("--since takes a time such as 2026-11-21T08:30:00Z, or 90s, 30m, 2h, 7d.")
        }
    }
}
