package import PushModel

/// How an app's work stands, for a page that shows it all the time.
package struct AppStanding: Sendable {
    package let queues: [WorkQueue: QueueLoad]
    /// The pauses of all apps.
    package let pauses: [Pause]
    /// Its dead letters, counted up to as many as was asked for.
    package let dead: Int
    package let room: StoreRoom

    package init(queues: [WorkQueue: QueueLoad], pauses: [Pause], dead: Int, room: StoreRoom) {
        self.queues = queues
        self.pauses = pauses
        self.dead = dead
        self.room = room
    }
}
