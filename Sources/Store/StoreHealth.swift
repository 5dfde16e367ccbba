package import PushModel

/// How the store is.
package protocol StoreHealth: Sendable {
    /// The size of the backlog; nearly free at any size, and shows that the store answers.
    func backlog() async throws -> Backlog

    /// The state of each queue, at a bounded cost.
    func queues() async throws -> [QueueStanding]

    /// How much room the store takes, and how much is left.
    func space() async throws -> StoreSpace

    /// Checks that the counts of some jobs add up (rules 3 and 14).
    ///
    /// - Parameters:
    ///   - cursor: The first job; 0 for the beginning.
    ///   - limit: The most jobs.
    /// - Returns: The result, and the next cursor.
    /// - Throws: ``StoreError``.
    func audit(after cursor: Int64, limit: Int) async throws -> Audit
}

/// The waiting work of all apps.
package struct Backlog: Sendable, Equatable {
    /// Jobs that are accepted and not final.
    package let jobs: Int
    /// Dead messages that wait for somebody, counted up to ``mostDead``.
    package let dead: Int

    /// The limit of the count: larger numbers need not be exact.
    package static let mostDead = 10_000

    package init(jobs: Int, dead: Int) {
        self.jobs = jobs
        self.dead = dead
    }
}

/// How the work in a queue stands, of all apps.
package struct QueueStanding: Sendable, Equatable {
    package let queue: WorkQueue
    /// Jobs, or batches in the queues of deliveries, that wait for a worker or for their next try, or are in work; counted in the
    /// first ``mostMessages`` messages.
    package var jobs = 0
    /// The age of the job whose message is at the queue's head: since it was accepted, or was to start.
    package var oldest = Duration.zero

    /// The limit of the count: larger numbers need not be exact.
    package static let mostMessages = 10_000

    package init(queue: WorkQueue) { self.queue = queue }
}

/// The files of the store, in bytes.
package struct StoreSpace: Sendable, Equatable {
    package let store: Int64
    /// The bytes written and not yet moved into the store's file.
    package let log: Int64
    /// The bytes free on the file system for the process's user.
    package let free: Int64

    package init(store: Int64, log: Int64, free: Int64) {
        self.store = store
        self.log = log
        self.free = free
    }
}

/// The result of checking some jobs.
package struct Audit: Sendable {
    /// How many were looked at.
    package var jobs: Int
    /// A line for each that does not hold.
    package var faults: [String]
    /// Where to go on; nil at the end.
    package var next: Int64?

    package init(jobs: Int, faults: [String], next: Int64?) {
        self.jobs = jobs
        self.faults = faults
        self.next = next
    }
}
