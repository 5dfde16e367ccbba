import GRDB
package import PushModel
package import Store
import StoreKit

extension SQLiteStore: PauseStore {
    package func pauses() async throws -> [Pause] {
        try await self.read { database in
            let rows = try database.all(
                """
                SELECT pause.queue, app.name, pause.by, pause.since FROM pause LEFT JOIN app ON app.number = pause.app
                ORDER BY pause.queue, pause.app
                """
            ) { (queue: $0[0] as String, app: $0[1] as String?, by: $0[2] as String, since: $0[3] as Int64) }
            return try rows.compactMap { row in
                // Of another release's queue nothing is known here.
                guard let queue = WorkQueue(row.queue) else { return nil }
                return Pause(
                    queue: queue,
                    app: try row.app.map { try AppID(stored: $0) },
                    by: row.by,
                    since: Timestamp(milliseconds: row.since)
                )
            }
        }
    }

    package func pause(_ queue: WorkQueue, app: AppID?, by caller: String) async throws {
        try await self.write { context in
            let number = try app.map { try context.database.ensureNumber(of: $0) } ?? Pause.allApps
            try context.database.run(
                "INSERT INTO pause(queue, app, by, since) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                [queue.description, number, caller, context.wall.milliseconds]
            )
        }
    }

    package func resume(_ queue: WorkQueue, app: AppID?) async throws -> Bool {
        try await self.write { context in
            let number = try app.map { try context.database.ensureNumber(of: $0) } ?? Pause.allApps
            return try context.database.change(
                "DELETE FROM pause WHERE queue = ? AND app = ?",
                [queue.description, number]
            ) > 0
        }
    }

    package func load(of app: AppID) async throws -> [WorkQueue: QueueLoad] {
        try await self.read { database in
            guard let number = try database.number(of: app) else { return [:] }
            var loads: [WorkQueue: QueueLoad] = [:]
            for queue in WorkQueue.allCases { loads[queue] = try database.load(of: queue, app: number) }
            return loads
        }
    }
}

extension Pause {
    /// In the table `pause`: the work of all apps; no app has that number.
    static let allApps: Int64 = 0
}

extension Database {
    /// Whether an app's work in a queue is paused.
    func isPaused(_ queue: WorkQueue, app: Int64) throws -> Bool {
        try self.exists(
            "SELECT 1 FROM pause WHERE queue = ? AND app IN (?, ?)",
            [queue.description, Pause.allApps, app]
        )
    }

    /// The queues in which an app's work is paused.
    func pausedQueues(of app: AppID) throws -> [WorkQueue] {
        try self.all(
            "SELECT queue FROM pause WHERE app = ? OR app = (SELECT number FROM app WHERE name = ?)",
            [Pause.allApps, app.name]
        ) { WorkQueue($0[0] as String) }
        .compactMap { $0 }
    }

    fileprivate func load(of queue: WorkQueue, app: Int64) throws -> QueueLoad {
        var load = QueueLoad()
        for priority in Priority.allCases {
            let states = try self.all(
                "SELECT state, sum(open) FROM message WHERE priority = ? AND app = ? AND queue = ? GROUP BY state",
                [priority.rank, app, queue.number]
            ) { (state: try MessageState(stored: $0[0]), open: $0[1] as Int) }
            for (state, open) in states {
                switch (queue, state) {
                // The store does not know which of these jobs are in progress.
                case (.register, _), (.send, _), (.deliver, .ready): load.waiting += open
                case (.deliver, .published): load.open += open
                case (.deliver, .deferred): load.deferred += open
                }
            }
        }
        return load
    }
}
