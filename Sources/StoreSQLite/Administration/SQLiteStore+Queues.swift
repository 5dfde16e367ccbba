import PushModel
import StoreSQL

extension Database {
    /// Whether an app's work in a queue is paused.
    func isPaused(_ queue: WorkQueue, app: Int64) throws -> Bool {
        try self.exists(
            "SELECT 1 FROM pause WHERE queue = ? AND app IN (?, ?)",
            [queue.description, PauseTable.allApps, app]
        )
    }
}
