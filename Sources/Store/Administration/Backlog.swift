package import PushModel

/// The waiting work of all apps.
package struct Backlog: Sendable, Equatable {
    /// Jobs that are accepted and not final.
    package let jobs: Int
    /// Dead letters that wait for somebody, counted up to ``mostDead``.
    package let dead: Int

    /// The limit of the count: larger numbers need not be exact.
    package static let mostDead = 10_000

    package init(jobs: Int, dead: Int) {
        self.jobs = jobs
        self.dead = dead
    }
}

/// How the work in a queue stands, of all apps.
package struct QueueBacklog: Sendable, Equatable {
    package let queue: WorkQueue
    /// Jobs, or batches in the queues of deliveries, that wait for a worker or for their next try, or are in progress; counted in the
    /// first ``mostMessages`` messages.
    package var jobs = 0
    /// The age of the job whose message is at the queue's head: since it was accepted, or was to start.
    package var oldest = Duration.zero

    /// The limit of the count: larger numbers need not be exact.
    package static let mostMessages = 10_000

    package init(queue: WorkQueue) { self.queue = queue }
}
