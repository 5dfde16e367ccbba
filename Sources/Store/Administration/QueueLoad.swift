/// How the work in a queue stands.
package struct QueueLoad: Sendable, Equatable {
    /// Work that was tried and is to be tried again, or that a worker gave back with a reason.
    package struct Delay: Sendable, Equatable {
        /// How long its job has waited, since it was accepted or was to start.
        package let age: Duration
        /// Why it did not get on when it was tried last.
        package let reason: String

        package init(age: Duration, reason: String) {
            self.age = age
            self.reason = reason
        }
    }

    /// Jobs that are not done; of a deliver queue: batches that wait for their time, or for credit.
    package var waiting = 0
    /// Batches that are at the broker or at a worker.
    package var open = 0
    /// Batches whose message a worker has deferred.
    package var deferred = 0
    /// The age of the job whose message is at the queue's head, of several that are due at once the one that was made first: since it was
    /// accepted, or was to start.
    package var oldest = Duration.zero
    /// The oldest of what is tried again, among the first messages of each group; nil = none, or the load is that of all apps.
    package var delay: Delay?

    /// All jobs, or batches.
    package var members: Int { self.waiting + self.open + self.deferred }

    /// The messages of a queue that are counted at least, of all apps: larger numbers need not be exact.
    package static let mostMessages = 10_000

    package init() {}
}
