import PushModel
import Store
import StoreKit

/// Reads what a search for due messages asks for (``DueMessages``).
struct DueReader: DueSource {
    /// The next group after another one.
    ///
    /// SQLite seeks the first row at or after these values: without a due time it would walk through the whole group.
    static let nextGroup = """
        SELECT app, queue, state, blocked_on FROM message
        WHERE priority = ? AND (app, queue, state, blocked_on, due) > (?, ?, ?, ?, \(Int64.max))
        ORDER BY app, queue, state, blocked_on LIMIT 1
        """

    private static let ofGroup = "priority = ? AND app = ? AND queue = ? AND state = ? AND blocked_on = ? AND due <= ?"

    /// Whether a group has something due.
    static let hasDue = "SELECT 1 FROM message WHERE \(Self.ofGroup)"

    /// The due messages of a group.
    static let rows = """
        SELECT \(Database.outboxColumns), message.size FROM message JOIN app ON app.number = message.app
        WHERE \(Self.ofGroup) ORDER BY message.due LIMIT ? OFFSET ?
        """

    let database: Database
    let now: Int64

    func groups(of priority: Priority) throws -> [DueGroup] { try self.database.groups(of: priority) }

    private func values(_ group: DueGroup, before: Int64) -> Database.Values {
        [group.priority.rank, group.app, group.queue, group.state, group.blockedOn, before]
    }

    func hasDue(_ group: DueGroup, before: Int64) throws -> Bool {
        try self.database.exists(Self.hasDue, self.values(group, before: before))
    }

    func rows(
        of group: DueGroup,
        before: Int64,
        limit: Int,
        offset: Int
    ) throws -> [(message: OutboxMessage, size: Int)] {
        try self.database.all(Self.rows, self.values(group, before: before) + [limit, offset]) {
            (try Database.outboxMessage($0), $0["size"])
        }
    }

    func isPaused(_ queue: WorkQueue, app: Int64) throws -> Bool { try self.database.isPaused(queue, app: app) }

    func load(of app: Int64, at pns: PushService, _ priority: Priority) throws -> ServiceLoad {
        try self.database.load(of: app, at: pns, priority, now: self.now)
    }

    func jobsInFlight(of app: Int64, in queue: WorkQueue, _ priority: Priority, most: Int) throws -> Int {
        try self.database.jobsInFlight(of: app, in: queue, priority, most: most)
    }
}

extension DueMessages {
    /// The messages to take, at most so many.
    func find(limit: Int, in database: Database, now: Int64) throws -> [DueMessage] {
        try self.find(limit: limit, in: DueReader(database: database, now: now))
    }
}

extension Database {
    /// The groups of messages of a priority, each found by one look.
    func groups(of priority: Priority) throws -> [DueGroup] {
        var groups: [DueGroup] = []
        var last = DueGroup(priority: priority, app: -1, queue: 0, state: 0, blockedOn: 0)
        while let next = try self.group(behind: last) {
            last = next
            groups.append(last)
        }
        return groups
    }

    private func group(behind last: DueGroup) throws -> DueGroup? {
        try self.first(DueReader.nextGroup, [last.priority.rank, last.app, last.queue, last.state, last.blockedOn]) {
            DueGroup(
                priority: last.priority,
                app: $0["app"],
                queue: $0["queue"],
                state: $0["state"],
                blockedOn: $0["blocked_on"]
            )
        }
    }
}
