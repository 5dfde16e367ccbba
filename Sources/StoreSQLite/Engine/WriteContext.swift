import PushModel
import Store
import StoreKit
import StoreSQL

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
        self.added.add(count, of: kind, job: job, pns: pns, platform: platform)
    }

    /// Counts that a member of a message is done with, or has another message now; written once a message and group.
    func leave(message: Int64) { self.added.leave(message: message) }

    /// How many have left a message in this transaction, and still count as open in the table.
    func unwrittenLeaves(of message: Int64) -> Int {
        self.counts.leaves(of: message) + self.added.leaves(of: message)
    }

    /// Counts jobs that became unfinished or scheduled, or are so no longer; written once a group.
    ///
    /// One row has the sums, which only one writer may keep: with several, each would have a row of its own, and the backlog be their sum.
    func count(_ change: BacklogChange) {
        self.added.count(change)
    }

    /// Counts a job that came to its end, for the metrics.
    func countFinished(_ state: Job.State) { self.added.countFinished(state, 1) }

    /// How many jobs are unfinished and scheduled at this point of the transaction.
    func backlog() throws -> (unfinished: Int, scheduled: Int) {
        let kept = try self.database.first("SELECT unfinished, scheduled FROM backlog") {
            (unfinished: $0["unfinished"] as Int, scheduled: $0["scheduled"] as Int)
        }
        guard let kept else { throw StoreError.noBacklog }
        return (
            kept.unfinished + self.counts.unfinished + self.added.unfinished,
            kept.scheduled + self.counts.scheduled + self.added.scheduled
        )
    }
}
