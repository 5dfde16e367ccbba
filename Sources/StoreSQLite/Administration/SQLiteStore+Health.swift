import Foundation
import PushModel
package import Store
import StoreKit

extension SQLiteStore: StoreHealth {
    package func backlog() async throws -> Backlog {
        try await self.read { database in
            Backlog(
                jobs: try database.first("SELECT unfinished FROM backlog") { $0[0] } ?? 0,
                dead: try database.first(
                    "SELECT count(*) FROM (SELECT 1 FROM dead LIMIT \(Backlog.mostDead))"
                ) { $0[0] } ?? 0
            )
        }
    }

    package func queues() async throws -> [QueueBacklog] {
        let (now, wall) = (self.clock.now, self.clock.wall)
        return try await self.read { try QueueBacklogs(database: $0, now: now, wall: wall).all() }
    }

    package func space() async throws -> StoreSpace {
        let path = self.configuration.path
        let system = try self.attributes { try FileManager.default.attributesOfFileSystem(forPath: path) }
        return StoreSpace(
            store: try self.size(of: path),
            // There is none before the first change.
            log: (try? self.size(of: path + "-wal")) ?? 0,
            free: (system[.systemFreeSize] as? NSNumber)?.int64Value ?? 0
        )
    }

    private func size(of file: String) throws -> Int64 {
        let attributes = try self.attributes { try FileManager.default.attributesOfItem(atPath: file) }
        return (attributes[.size] as? NSNumber)?.int64Value ?? 0
    }

    private func attributes(
        _ read: () throws -> [FileAttributeKey: Any]
    ) throws(StoreError) -> [FileAttributeKey: Any] {
        do { return try read() } catch { throw StoreError(.unavailable, "its file cannot be looked at: \(error)") }
    }
}

/// Looks how the work in each queue stands, group by group of the index of what is due.
struct QueueBacklogs {
    let database: Database
    let now: Int64
    let wall: Timestamp

    /// The message of a group that has been due the longest.
    static let head = """
        SELECT id, due, first, last FROM message
        WHERE priority = ? AND app = ? AND queue = ? AND state = ? AND blocked_on = ? ORDER BY due LIMIT 1
        """

    /// How many members some messages of a group have, and how many messages these are.
    static let members = """
        SELECT count(*), coalesce(sum(open), 0) FROM (
            SELECT open FROM message
            WHERE priority = ? AND app = ? AND queue = ? AND state = ? AND blocked_on = ? LIMIT ?
        )
        """

    /// When the first unfinished job of a range began to wait; of a range of finished ones not all are looked at.
    static let firstOfRange = """
        SELECT began FROM (
            SELECT coalesce(starts_at, accepted) AS began, finished FROM job WHERE sequence BETWEEN ? AND ? LIMIT 1000
        ) WHERE finished IS NULL LIMIT 1
        """

    /// When the job of a retry began to wait.
    static let ofRetry = """
        SELECT coalesce(job.starts_at, job.accepted) FROM batch CROSS JOIN job ON job.sequence = batch.job
        WHERE batch.message = ? AND batch.open = 1 LIMIT 1
        """

    func all() throws -> [QueueBacklog] {
        var backlogs: [Int: QueueBacklog] = [:]
        for queue in WorkQueue.allCases { backlogs[queue.number] = QueueBacklog(queue: queue) }
        var counted: [Int: Int] = [:]
        for priority in Priority.allCases {
            for group in try self.database.groups(of: priority) {
                let key: Database.Values = [priority.rank, group.app, group.queue, group.state, group.blockedOn]
                var backlog = try backlogs[group.queue] ?? QueueBacklog(queue: WorkQueue(number: group.queue))
                let left = QueueBacklog.mostMessages - counted[group.queue, default: 0]
                let (messages, members) =
                    try self.database.first(Self.members, key + [left]) {
                        ($0[0] as Int, $0[1] as Int)
                    } ?? (0, 0)
                counted[group.queue, default: 0] += messages
                backlog.jobs += members
                if let age = try self.ageOfHead(key, in: group.state) { backlog.oldest = max(backlog.oldest, age) }
                backlogs[group.queue] = backlog
            }
        }
        return backlogs.sorted { $0.key < $1.key }.map(\.value)
    }

    /// How old the job at a group's head is; nil where it is to be tried later.
    private func ageOfHead(_ group: Database.Values, in state: Int) throws -> Duration? {
        let head = try self.database.first(Self.head, group) {
            (id: $0[0] as Int64, due: $0[1] as Int64, first: $0[2] as Int64, last: $0[3] as Int64)
        }
        guard let head, head.due <= self.now || state == MessageState.published.rawValue else { return nil }
        let began: Int64? =
            head.first > 0
            ? try self.database.first(Self.firstOfRange, [head.first, max(head.first, head.last)]) { $0[0] }
            : try self.database.first(Self.ofRetry, [head.id]) { $0[0] }
        return began.map { .milliseconds(max(0, self.wall.milliseconds.clampedSubtracting($0))) }
    }
}
