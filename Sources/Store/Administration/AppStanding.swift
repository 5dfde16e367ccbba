package import PushModel

/// How an app's work stands, for a page that shows it all the time.
package struct AppStanding: Sendable {
    package let queues: [WorkQueue: QueueLoad]
    /// The pauses of all apps.
    package let pauses: [Pause]
    /// Its dead letters, counted up to as many as was asked for.
    package let dead: Int
    /// Its sends that ended within ``endedWithin`` in these states: expired and abandoned.
    package let ended: [Job.State: Int]
    package let room: StoreRoom

    package init(
        queues: [WorkQueue: QueueLoad],
        pauses: [Pause],
        dead: Int,
        ended: [Job.State: Int],
        room: StoreRoom
    ) {
        self.queues = queues
        self.pauses = pauses
        self.dead = dead
        self.ended = ended
        self.room = room
    }

    /// For so long somebody may want to know of a send that ended badly.
    package static let endedWithin = Duration.seconds(86_400)
    /// The newest jobs of a state among which they are counted.
    package static let mostEnded = 500
}
