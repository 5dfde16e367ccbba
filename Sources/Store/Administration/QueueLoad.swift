/// The backlog of a queue.
package struct QueueLoad: Sendable, Equatable {
    /// Jobs that are not done; of a deliver queue: batches that wait for their time, or for credit.
    package var waiting = 0
    /// Batches that are at the broker or at a worker.
    package var open = 0
    /// Batches whose message a worker has deferred.
    package var deferred = 0

    package init() {}
}
