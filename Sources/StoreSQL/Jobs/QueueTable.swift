package import PushModel
package import Store
import StoreKit

/// The table `message` by its groups, each found by one look into the index of what is due.
package enum QueueTable {
    /// The groups of an app, or of all (nil), with when the job at the head of each began to wait.
    ///
    /// A group's head is the first row behind the group before. With the due time among the values an engine seeks it; without, it would
    /// walk through that group. Of several that are due at once, as those that were taken together, the first is the one that was made first.
    package static func groups(of app: AppID?, now: Int64) -> SQLStatement {
        let seeds = Priority.allCases.map { priority -> SQLStatement in
            "SELECT CAST(NULL AS bigint), CAST(\(raw: "\(priority.rank)") AS bigint), CAST(-1 AS bigint), 0, 0, 0"
        }
        let last: SQLStatement = "found.queue, found.state, found.blocked_on, \(raw: "\(Int64.max)")"
        let behind: SQLStatement =
            if let app {
                "app = \(SQLStatement.app(app)) AND (queue, state, blocked_on, due) > (\(last))"
            } else {
                "(app, queue, state, blocked_on, due) > (found.app, \(last))"
            }
        return """
            WITH RECURSIVE found(id, priority, app, queue, state, blocked_on) AS (
                SELECT * FROM (\(SQLStatement(joining: seeds, with: " UNION ALL "))) AS seed
                UNION ALL
                SELECT head.id, head.priority, head.app, head.queue, head.state, head.blocked_on
                FROM found JOIN message AS head ON head.id = (
                    SELECT id FROM message WHERE priority = found.priority AND \(behind)
                    ORDER BY priority, app, queue, state, blocked_on, due, id LIMIT 1)
            )
            SELECT head.priority, head.app, head.queue, head.state, head.blocked_on,
                CASE WHEN head.due > \(now) AND head.state <> \(raw: "\(MessageState.published.rawValue)") THEN NULL
                    WHEN head.first > 0 THEN (\(self.firstOfRange)) ELSE (\(self.ofRetry)) END AS began
            FROM found JOIN message AS head ON head.id = found.id
            """
    }

    /// When the first job of a message began to wait, among the first of its range: of finished ones not all are looked at.
    private static let firstOfRange: SQLStatement = """
        SELECT began FROM (
            SELECT sequence, coalesce(starts_at, accepted) AS began, finished, message FROM job
            WHERE sequence BETWEEN head.first AND CASE WHEN head.last < head.first THEN head.first ELSE head.last END
            ORDER BY sequence LIMIT 1000
        ) AS member WHERE finished IS NULL AND (message = head.id OR message IS NULL AND EXISTS (
            SELECT 1 FROM batch WHERE batch.job = member.sequence AND +batch.message = head.id AND batch.open = 1)) LIMIT 1
        """

    /// When the job of a retry began to wait.
    private static let ofRetry: SQLStatement = """
        SELECT coalesce(job.starts_at, job.accepted) FROM batch JOIN job ON job.sequence = batch.job
        WHERE batch.message = head.id AND batch.open = 1 LIMIT 1
        """

    /// How many members some messages of a group have, and how many messages these are.
    fileprivate static func members(of group: SQLRow, limit: Int) throws -> SQLStatement {
        """
        SELECT count(*) AS messages, CAST(coalesce(sum(open), 0) AS bigint) AS members FROM (
            SELECT open FROM message
            WHERE priority = \(try group["priority"] as Int) AND app = \(try group["app"] as Int64)
                AND queue = \(try group["queue"] as Int) AND state = \(try group["state"] as Int)
                AND blocked_on = \(try group["blocked_on"] as Int) LIMIT \(limit)
        ) AS counted
        """
    }

    /// The messages of a group that are looked at for what is tried again.
    private static let mostDelayed = 100

    /// Of the first messages of a group, the oldest that was tried and did not get on: when its first job began to wait, and why it waits.
    static func delay(in group: SQLRow) throws -> SQLStatement {
        // One that was published again may have the reason still for which it was deferred before.
        let isDeferred = try MessageState(stored: group["state"]) == .deferred
        return """
            SELECT began, reason FROM (
                SELECT coalesce(\(raw: isDeferred ? "early.reason" : "NULL"), (
                        SELECT retry_reason FROM batch WHERE batch.message = early.id AND batch.open = 1 LIMIT 1)) AS reason,
                    CASE WHEN early.first > 0 THEN (SELECT coalesce(starts_at, accepted) FROM job WHERE sequence = early.first)
                        ELSE (SELECT coalesce(job.starts_at, job.accepted) FROM batch JOIN job ON job.sequence = batch.job
                            WHERE batch.message = early.id AND batch.open = 1 LIMIT 1) END AS began
                FROM (
                    SELECT id, first, reason FROM message
                    WHERE priority = \(try group["priority"] as Int) AND app = \(try group["app"] as Int64)
                        AND queue = \(try group["queue"] as Int) AND state = \(try group["state"] as Int)
                        AND blocked_on = \(try group["blocked_on"] as Int)
                    ORDER BY due LIMIT \(raw: "\(self.mostDelayed)")
                ) AS early
            ) AS delayed WHERE reason IS NOT NULL AND began IS NOT NULL ORDER BY began, reason LIMIT 1
            """
    }
}

extension StoreHealth where Self: SQLEngine {
    package func state() async throws -> StoreState {
        let (backlog, dead) = try await self.rows(
            Counts.backlog,
            "SELECT count(*) AS dead FROM (SELECT 1 FROM dead LIMIT \(StoreState.mostDead)) AS counted"
        )
        return StoreState(
            jobs: try backlog.first?["unfinished"] ?? 0,
            dead: try dead.first?["dead"] ?? 0,
            room: self.room
        )
    }

    package func standing(of app: AppID, mostDead: Int) async throws -> AppStanding {
        let since = self.clock.wall.advanced(by: .zero - AppStanding.endedWithin)
        let states = [Job.State.expired, .abandoned]
        let found = try await self.rows(
            [
                QueueTable.groups(of: app, now: self.clock.now), PauseTable.all,
                DeadLetterTable.count(of: app, limit: mostDead),
            ] + states.map { JobTable.ended($0, of: app, since: since) }
        )
        var ended: [Job.State: Int] = [:]
        for (state, rows) in zip(states, found.dropFirst(3)) { ended[state] = try rows.first?["ended"] ?? 0 }
        return AppStanding(
            queues: try await self.loads(of: found[0], app: app),
            pauses: try PauseTable.pauses(found[1]),
            dead: try found[2].first?["dead"] ?? 0,
            ended: ended,
            room: self.room
        )
    }

    package func queues(of app: AppID?) async throws -> [WorkQueue: QueueLoad] {
        try await self.loads(of: try await self.rows(QueueTable.groups(of: app, now: self.clock.now)), app: app)
    }

    /// The queues' loads, by the groups that they have.
    private func loads(of rows: [SQLRow], app: AppID?) async throws -> [WorkQueue: QueueLoad] {
        let wall = self.clock.wall.milliseconds
        var loads = Dictionary(uniqueKeysWithValues: WorkQueue.allCases.map { ($0, QueueLoad()) })
        // An app's are all counted.
        var left = loads.mapValues { _ in app == nil ? QueueLoad.mostMessages : .max }
        // Some at a time: whether more of a queue are to be counted shows behind them.
        for start in stride(from: 0, to: rows.count, by: 8) {
            let groups = try rows[start..<min(start + 8, rows.count)].map { row in
                (row: row, queue: try WorkQueue(number: row["queue"]))
            }
            let counts = try groups.map { try QueueTable.members(of: $0.row, limit: max(0, left[$0.queue] ?? 0)) }
            // Retries are for those who look at an app.
            let delays = try app == nil ? [] : groups.map { try QueueTable.delay(in: $0.row) }
            let answers = try await self.rows(counts + delays)
            for ((_, queue), found) in zip(groups, answers.dropFirst(groups.count)) {
                guard let row = found.first else { continue }
                let age = Duration.milliseconds(max(0, wall.clampedSubtracting(try row["began"])))
                loads[queue]?.add(QueueLoad.Delay(age: age, reason: try row["reason"]))
            }
            for ((row, queue), count) in zip(groups, answers.prefix(groups.count).compactMap(\.first)) {
                left[queue]? -= try count["messages"]
                let age = try (row["began"] as Int64?).map { began in
                    Duration.milliseconds(max(0, wall.clampedSubtracting(began)))
                }
                let state = try MessageState(stored: row["state"])
                loads[queue]?.add(try count["members"], of: queue, state, age: age)
            }
        }
        return loads
    }
}
