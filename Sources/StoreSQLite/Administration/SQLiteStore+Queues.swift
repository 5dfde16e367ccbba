import GRDB
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

    /// The queues in which an app's work is paused.
    func pausedQueues(of app: AppID) throws -> [WorkQueue] {
        try self.all(
            "SELECT queue FROM pause WHERE app = ? OR app = (SELECT number FROM app WHERE name = ?)",
            [PauseTable.allApps, app.name]
        ) { WorkQueue($0[0] as String) }
        .compactMap { $0 }
    }
}
