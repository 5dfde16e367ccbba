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
            let number = try app.map { try context.database.ensureNumber(of: $0) } ?? Feeding.allApps
            try context.database.run(
                "INSERT INTO pause(queue, app, by, since) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                [queue.description, number, caller, context.wall.milliseconds]
            )
        }
    }

    package func resume(_ queue: WorkQueue, app: AppID?) async throws -> Bool {
        try await self.write { context in
            let number = try app.map { try context.database.ensureNumber(of: $0) } ?? Feeding.allApps
            return try context.database.change(
                "DELETE FROM pause WHERE queue = ? AND app = ?",
                [queue.description, number]
            ) > 0
        }
    }

    package func hold(_ job: JobID) async throws {
        try await self.write { context in
            try context.database.run(
                """
                UPDATE job SET due = ?, planner_epoch = planner_epoch + 1, claims = 0,
                    waits = CASE kind WHEN \(JobKind.send.number) THEN \(Feeding.heldSends) ELSE \(Feeding.heldRegisters) END
                WHERE id = ? AND planned = 0 AND state IN (1, 2) AND due IS NOT NULL
                """,
                [context.now, job.blob]
            )
        }
    }

    package func hold(_ bundle: BundleID) async throws {
        try await self.write { context in
            try context.database.run(
                // The epoch: whoever marks it published only now must not undo this.
                "UPDATE bundle SET due = ?, epoch = epoch + 1, claims = 0 WHERE id = ?",
                [context.now, bundle.number]
            )
        }
    }

    package func load(of app: AppID) async throws -> [WorkQueue: QueueLoad] {
        try await self.read { database in
            guard let number = try database.number(of: app) else { return [:] }
            return Dictionary(
                uniqueKeysWithValues: try WorkQueue.allCases.map { queue in
                    switch queue {
                    case .register: (queue, try database.load(of: .register, app: number))
                    case .send: (queue, try database.load(of: .send, app: number))
                    case .deliver(let pns): (queue, try database.load(of: pns, app: number))
                    }
                }
            )
        }
    }
}

extension Feeding {
    /// In the column `waits`: it was given back because its queue is paused; beyond the bits of services.
    static let heldSends = 1 << 8
    static let heldRegisters = 1 << 9
    /// In the table `pause`: the work of all apps; no app has that number.
    static let allApps: Int64 = 0

    /// The queue whose pause a job was given back for, if it was for one.
    static func held(_ waits: Int) -> WorkQueue? {
        if waits & Self.heldSends != 0 { return .send }
        return waits & Self.heldRegisters != 0 ? .register : nil
    }
}

extension Database {
    /// Whether an app's work in a queue is to rest.
    func isPaused(_ queue: WorkQueue, app: Int64) throws -> Bool {
        try self.exists(
            "SELECT 1 FROM pause WHERE queue = ? AND app IN (?, ?)",
            [queue.description, Feeding.allApps, app]
        )
    }

    /// The queues in which an app's work rests.
    func pausedQueues(of app: AppID) throws -> [WorkQueue] {
        try self.all(
            "SELECT queue FROM pause WHERE app = ? OR app = (SELECT number FROM app WHERE name = ?)",
            [Feeding.allApps, app.name]
        ) { WorkQueue($0[0] as String) }
        .compactMap { $0 }
    }

    fileprivate func load(of kind: JobKind, app: Int64) throws -> QueueLoad {
        var load = QueueLoad()
        for priority in Priority.allCases {
            // By what is due once: the index of states holds all that an app ever failed.
            load.waiting +=
                try self.first(
                    "SELECT count(*) FROM job WHERE priority = ? AND app = ? AND due IS NOT NULL AND kind = ?",
                    [priority.rank, app, kind.number]
                ) { $0[0] as Int } ?? 0
            guard kind == .send else { continue }
            load.waiting +=
                try self.first(
                    "SELECT coalesce(sum(last - first + 1), 0) FROM bundle WHERE priority = ? AND app = ?",
                    [priority.rank, app]
                ) { $0[0] as Int } ?? 0
        }
        return load
    }

    fileprivate func load(of pns: PNS, app: Int64) throws -> QueueLoad {
        var load = QueueLoad()
        for priority in Priority.allCases {
            let known = try self.first(
                """
                SELECT total(published = 1), total(published = -1) FROM batch
                WHERE app = ? AND pns = ? AND priority = ? AND open = 1 AND published IN (-1, 1)
                """,
                [app, pns.number, priority.rank]
            ) { (open: Int($0[0] as Double), parked: Int($0[1] as Double)) }
            load.open += known?.open ?? 0
            load.parked += known?.parked ?? 0
            load.waiting +=
                try self.first(
                    """
                    SELECT count(*) FROM batch WHERE priority = ? AND app = ? AND pns = ? AND published = 0 AND open = 1
                        AND due IS NOT NULL
                    """,
                    [priority.rank, app, pns.number]
                ) { $0[0] as Int } ?? 0
            load.open +=
                try self.first(
                    "SELECT coalesce(sum(open), 0) FROM parcel WHERE app = ? AND pns = ? AND priority = ?",
                    [app, pns.number, priority.rank]
                ) { $0[0] as Int } ?? 0
        }
        return load
    }
}

extension Schema {
    static let pauses = """
        -- What is not worked on until it is resumed; app 0 = of all apps.
        CREATE TABLE pause(
            queue TEXT NOT NULL,
            app INTEGER NOT NULL,
            by TEXT NOT NULL,
            since INTEGER NOT NULL,
            PRIMARY KEY (queue, app)) STRICT, WITHOUT ROWID;
        """
}
