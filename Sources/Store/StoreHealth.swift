package import PushModel

/// How the store is.
package protocol StoreHealth: Sendable {
    /// How much waits; costs next to nothing, however much there is, and shows that the store answers.
    func backlog() async throws -> Backlog

    /// How the work in each queue stands; what it costs is bounded, however much there is.
    func queues() async throws -> [QueueStanding]

    /// How much room the store takes, and how much is left.
    func space() async throws -> StoreSpace

    /// Checks that the counts of some jobs add up (rules 3 and 14).
    ///
    /// - Parameters:
    ///   - cursor: Where to begin; 0 for the first.
    ///   - limit: How many jobs are looked at.
    /// - Returns: What was seen, and where to go on.
    /// - Throws: ``StoreError``.
    func audit(after cursor: Int64, limit: Int) async throws -> Audit
}

/// What waits, of all apps.
package struct Backlog: Sendable, Equatable {
    /// Jobs that are accepted and not final.
    package let jobs: Int
    /// Dead messages that wait for somebody, counted up to ``mostDead``.
    package let dead: Int

    /// Whoever has so many need not know how many more.
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

    /// Whoever has so many need not know how many more.
    package static let mostMessages = 10_000

    package init(queue: WorkQueue) { self.queue = queue }
}

/// The files of the store, in bytes.
package struct StoreSpace: Sendable, Equatable {
    package let store: Int64
    /// What is written, and not yet moved into the store's file.
    package let log: Int64
    /// What the file system has left for the process's user.
    package let free: Int64

    package init(store: Int64, log: Int64, free: Int64) {
        self.store = store
        self.log = log
        self.free = free
    }
}

/// What came of checking some jobs.
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
