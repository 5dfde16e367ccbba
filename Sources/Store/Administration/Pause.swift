package import PushModel

/// A queue that is not worked on until it is resumed.
package struct Pause: Sendable, Equatable {
    package let queue: WorkQueue
    /// The app; nil = all apps.
    package let app: AppID?
    /// The author of the pause.
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
    package static func reason(_ queue: WorkQueue) -> WaitReason { WaitReason("paused: \(queue)") }
}
