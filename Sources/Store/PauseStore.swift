package import PushModel

/// What an operator has paused, in all processes and over their restarts, until it is resumed.
///
/// Nothing is taken from the outbox for a queue that is paused, send workers have no credit for it, and workers defer the messages that they
/// are handed.
package protocol PauseStore: Sendable {
    /// All pauses: a handful.
    func pauses() async throws -> [Pause]

    /// Pauses a queue; one that is paused stays as it is.
    ///
    /// - Parameters:
    ///   - queue: What is paused.
    ///   - app: Of this app; nil = of all apps.
    ///   - caller: Who asks, for whoever wonders.
    /// - Throws: ``StoreError``.
    func pause(_ queue: WorkQueue, app: AppID?, by caller: String) async throws

    /// Ends a pause: what waited is due.
    ///
    /// - Returns: Whether there was one.
    func resume(_ queue: WorkQueue, app: AppID?) async throws -> Bool

    /// The backlog of an app as the store knows it, by queue.
    func load(of app: AppID) async throws -> [WorkQueue: QueueLoad]
}

/// A queue that is not worked on until it is resumed.
package struct Pause: Sendable, Equatable {
    package let queue: WorkQueue
    /// Whose work; nil = that of all apps.
    package let app: AppID?
    /// Who asked for it.
    package let by: String
    package let since: Timestamp

    package init(queue: WorkQueue, app: AppID?, by: String, since: Timestamp) {
        self.queue = queue
        self.app = app
        self.by = by
        self.since = since
    }

    /// Whether it keeps an app's work in that queue from being done.
    package func covers(_ queue: WorkQueue, app: AppID) -> Bool {
        self.queue == queue && (self.app == nil || self.app == app)
    }

    /// What jobs say that wait for its end.
    package static func reason(_ queue: WorkQueue) -> String { "paused: \(queue)" }
}

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
