package import PushModel
package import Store
import StoreKit
import StoreSQL

extension SQLiteStore {
    /// See ``StoreHealth/load(of:)``.
    package func load(of app: AppID) async throws -> [WorkQueue: QueueLoad] {
        try await self.read { database in
            guard let number = try database.number(of: app) else { return [:] }
            var loads: [WorkQueue: QueueLoad] = [:]
            for queue in WorkQueue.allCases { loads[queue] = try database.load(of: queue, app: number) }
            return loads
        }
    }
}

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

    fileprivate func load(of queue: WorkQueue, app: Int64) throws -> QueueLoad {
        var load = QueueLoad()
        for priority in Priority.allCases {
            let states = try self.all(
                "SELECT state, sum(open) FROM message WHERE priority = ? AND app = ? AND queue = ? GROUP BY state",
                [priority.rank, app, queue.number]
            ) { (state: MessageState(rawValue: $0[0]), open: $0[1] as Int) }
            for (state, open) in states {
                switch (queue, state) {
                // The store does not know which of these jobs are in progress.
                case (.register, _), (.send, _), (.deliver, .ready): load.waiting += open
                case (.deliver, .published): load.open += open
                case (.deliver, .deferred): load.deferred += open
                case (.deliver, nil): throw StoreError(.corrupt, "a message has an unknown state")
                }
            }
        }
        return load
    }
}
