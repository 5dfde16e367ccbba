import PushModel
import Store
import StoreKit

/// The state of one change within its group's transaction.
///
/// It lives on the writer's queue and never leaves it.
final class WriteContext {
    let database: Database
    let clock: StoreClock
    /// The store's clock, in milliseconds.
    let now: Int64
    let wall: Timestamp
    let digest: HandleDigest
    /// Counts of this group that are not yet in the table.
    private let counts: Counts
    /// The counts of this change, added to the group's if it succeeds.
    let added = Counts()

    init(database: Database, clock: StoreClock, digest: HandleDigest, counts: Counts) {
        self.database = database
        self.clock = clock
        self.now = clock.now
        self.wall = clock.wall
        self.digest = digest
        self.counts = counts
    }

    /// Counts devices; written once a job and group, not once a batch (rule 14).
    func count(_ count: Int, of kind: DeliveryCountClass, job: Int64, pns: Int, platform: String? = nil) {
        guard count != 0 else { return }
        self.added.add(count, of: kind, job: job, pns: pns)
        if let platform { self.added.add(count, of: kind, job: job, platform: platform) }
    }

    /// Counts that a member of a message is done with, or has another message now; written once a message and group.
    func leave(message: Int64) { self.added.leave(message: message, 1) }

    /// How many have left a message in this transaction, and still count as open in the table.
    func unwrittenLeaves(of message: Int64) -> Int {
        self.counts.leaves(of: message) + self.added.leaves(of: message)
    }

    /// Counts jobs that became unfinished or scheduled, or are so no longer; written once a group.
    ///
    /// One row has the sums, which only one writer may keep: with several, each would have a row of its own, and the backlog be their sum.
    func count(_ change: BacklogChange) {
        self.added.countBacklog(unfinished: change.unfinished, scheduled: change.scheduled)
    }

    /// Counts a job that came to its end, for the metrics.
    func countFinished(_ state: Job.State) { self.added.countFinished(state, 1) }

    /// How many jobs are unfinished and scheduled at this point of the transaction.
    func backlog() throws -> (unfinished: Int, scheduled: Int) {
        let kept = try self.database.first("SELECT unfinished, scheduled FROM backlog") {
            (unfinished: $0["unfinished"] as Int, scheduled: $0["scheduled"] as Int)
        }
        guard let kept else { throw StoreError(.corrupt, "the count of unfinished jobs is missing") }
        return (
            kept.unfinished + self.counts.unfinished + self.added.unfinished,
            kept.scheduled + self.counts.scheduled + self.added.scheduled
        )
    }
}

/// Pending additions to the tables `delivery_count` and `backlog`, removed members of messages, and ends of jobs; used
/// only on the writer's queue.
final class Counts {
    private struct Key: Hashable {
        let pns: Int
        let kind: DeliveryCountClass
    }

    private var jobs: [Int64: [Key: Int]] = [:]
    private struct PlatformKey: Hashable {
        let job: Int64
        let platform: String
        let kind: DeliveryCountClass
    }
    /// Of the table `platform_count`.
    private var platforms: [PlatformKey: Int] = [:]
    /// How many members have left each message.
    private var messages: [Int64: Int] = [:]
    /// How many more jobs are unfinished.
    private(set) var unfinished = 0
    /// How many more jobs wait for their start.
    private(set) var scheduled = 0
    /// How many jobs came to their end in each state.
    private(set) var finished: [Job.State: Int] = [:]

    func countBacklog(unfinished: Int, scheduled: Int) {
        self.unfinished += unfinished
        self.scheduled += scheduled
    }

    func countFinished(_ state: Job.State, _ count: Int) { self.finished[state, default: 0] += count }

    func add(_ count: Int, of kind: DeliveryCountClass, job: Int64, pns: Int) {
        self.jobs[job, default: [:]][Key(pns: pns, kind: kind), default: 0] += count
    }

    func add(_ count: Int, of kind: DeliveryCountClass, job: Int64, platform: String) {
        self.platforms[PlatformKey(job: job, platform: platform, kind: kind), default: 0] += count
    }

    func leave(message: Int64, _ count: Int) { self.messages[message, default: 0] += count }

    func leaves(of message: Int64) -> Int { self.messages[message] ?? 0 }

    func add(_ other: Counts) {
        for (job, counts) in other.jobs { self.jobs[job, default: [:]].merge(counts, uniquingKeysWith: +) }
        self.platforms.merge(other.platforms, uniquingKeysWith: +)
        self.messages.merge(other.messages, uniquingKeysWith: +)
        self.countBacklog(unfinished: other.unfinished, scheduled: other.scheduled)
        for (state, count) in other.finished { self.countFinished(state, count) }
    }

    func write(to database: Database) throws {
        if self.unfinished != 0 || self.scheduled != 0 {
            try database.run(
                "UPDATE backlog SET unfinished = unfinished + ?, scheduled = scheduled + ?",
                [self.unfinished, self.scheduled]
            )
        }
        let statement = try PreparedStatement(
            """
            INSERT INTO delivery_count(job, pns, class, count) VALUES (?, ?, ?, ?)
            ON CONFLICT (job, pns, class) DO UPDATE SET count = count + excluded.count
            """,
            in: database
        )
        // In the order of the table, so that its pages are each gone to once.
        for (job, counts) in self.jobs.sorted(by: { $0.key < $1.key }) {
            for (key, count) in counts { try statement.run(job, [key.pns, key.kind.number, count]) }
        }
        for (key, count) in self.platforms {
            try database.run(PlatformCountTable.add, [key.job, key.platform, key.kind.number, count])
        }
        // Members leave first, and then the message goes: were it deleted where they are the last, two writers that look at the same time
        // would both find one more, and leave a message without a member, which is published for ever.
        let leave = try PreparedStatement("UPDATE message SET open = open - ?2 WHERE id = ?1", in: database)
        let end = try PreparedStatement("DELETE FROM message WHERE id = ? AND open <= 0", in: database)
        for (message, count) in self.messages {
            try leave.run(message, [count])
            try end.run(message, [])
        }
    }
}
