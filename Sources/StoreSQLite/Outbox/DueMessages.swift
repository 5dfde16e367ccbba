import GRDB
import PushModel
import Store
import StoreKit

/// A message that should be at the broker and seems not to be.
struct DueMessage: Sendable {
    let message: OutboxMessage
    /// The app's number.
    let app: Int64
    let state: MessageState
    let size: Int
}

/// Finds what is due, most urgent first.
///
/// Due rows are read in groups that an index keeps apart, one after the other: however many rows of a group there are, the others are
/// found behind its first (rule 12).
struct DueMessages: Sendable {
    private let flow: FlowControl
    private let queues: Set<WorkQueue>
    private let overdue: Int64

    /// How many messages of a group are taken at once that wait for credit: each may find it gone.
    private static let wakeLimit = 256

    init(flow: FlowControl, queues: Set<WorkQueue>, overdue: Duration) {
        self.flow = flow
        self.queues = queues
        self.overdue = overdue.milliseconds
    }

    /// Messages of an app, queue and state that wait for the same.
    fileprivate struct Group {
        let app: Int64
        let queue: Int
        let state: Int
        let blockedOn: Int
    }

    func find(limit: Int, in database: Database) throws -> [DueMessage] {
        var found: [DueMessage] = []
        for priority in Priority.allCases.sorted() where found.count < limit {
            found += try self.find(priority, limit: limit - found.count, in: database)
        }
        return found
    }

    private func find(_ priority: Priority, limit: Int, in database: Database) throws -> [DueMessage] {
        let groups = try self.groups(of: priority, in: database)
        var found: [DueMessage] = []
        for (index, group) in groups.enumerated() where found.count < limit {
            let queue = try WorkQueue(number: group.queue)
            guard self.queues.contains(queue), try !database.isPaused(queue, app: group.app) else { continue }
            // What one group leaves of its share is the next ones'.
            let share = max(1, (limit - found.count) / (groups.count - index))
            found += try self.messages(of: group, in: queue, priority: priority, limit: share, database)
        }
        return found
    }

    private func messages(
        of group: Group,
        in queue: WorkQueue,
        priority: Priority,
        limit: Int,
        _ database: Database
    ) throws -> [DueMessage] {
        guard let state = MessageState(rawValue: group.state) else {
            throw StoreError(.corrupt, "a message has an unknown state")
        }
        var limit = limit
        var before = self.flow.now
        /// How many devices may be published.
        var credit = Int.max
        switch (queue, state) {
        case (.deliver(let pns), .ready):
            // What is in flight counts already.
            let (app, flow) = (group.app, self.flow)
            credit = try flow.credit(for: .retry, app: app, pns: pns, priority: priority, in: database).devices
            limit = min(limit, try flow.messages(for: .retry, app: app, pns: pns, priority: priority, in: database))
        case (.register, .ready), (.send, .ready), (.register, .published), (.send, .published):
            // The process that has accepted it publishes it.
            before -= self.overdue
        case (.deliver, .published), (_, .deferred): break
        }
        if group.blockedOn != 0 {
            limit = min(limit, try self.wakes(of: group, priority: priority, in: database))
        }
        guard limit > 0, credit > 0 else { return [] }
        let rows = try database.dueRows(priority, group: group, before: before, limit: limit)
        return rows.filter { row in
            defer { credit -= credit == .max ? 0 : row.size }
            return credit > 0
        }
        .map { DueMessage(message: $0.message, app: group.app, state: state, size: $0.size) }
    }

    /// How many messages that wait for credit may find some now.
    private func wakes(of group: Group, priority: Priority, in database: Database) throws -> Int {
        let blocked = BlockedOn(bits: group.blockedOn)
        var wakes = 0
        for pns in blocked.services {
            let kind: CreditKind = blocked.isContinued ? .page : .first
            let devices = try self.flow.credit(for: kind, app: group.app, pns: pns, priority: priority, in: database)
                .devices
            // A campaign takes what there is, a small send little.
            let pages = (devices + DeliverBatch.maximumDevices - 1) / DeliverBatch.maximumDevices
            wakes = max(wakes, blocked.isContinued ? pages : devices)
        }
        return min(wakes, Self.wakeLimit)
    }

    private func groups(of priority: Priority, in database: Database) throws -> [Group] {
        var groups: [Group] = []
        var last = Group(app: -1, queue: 0, state: 0, blockedOn: 0)
        while let next = try database.nextGroup(priority, behind: (last.app, last.queue, last.state, last.blockedOn)) {
            last = Group(app: next.app, queue: next.queue, state: next.state, blockedOn: next.blockedOn)
            groups.append(last)
        }
        return groups
    }
}

extension Database {
    fileprivate func nextGroup(
        _ priority: Priority,
        behind last: (Int64, Int, Int, Int)
    ) throws -> (app: Int64, queue: Int, state: Int, blockedOn: Int)? {
        try self.first(
            DueMessages.nextGroup,
            [priority.rank, last.0, last.1, last.2, last.3]
        ) { ($0[0], $0[1], $0[2], $0[3]) }
    }
}

extension DueMessages {
    /// The group behind another one.
    static let nextGroup = """
        SELECT app, queue, state, blocked_on FROM message
        WHERE priority = ? AND (app, queue, state, blocked_on) > (?, ?, ?, ?)
        ORDER BY app, queue, state, blocked_on LIMIT 1
        """

    /// The due messages of a group.
    static let rows = """
        SELECT \(Database.outboxColumns), message.size FROM message JOIN app ON app.number = message.app
        WHERE message.priority = ? AND message.app = ? AND message.queue = ? AND message.state = ? AND message.blocked_on = ?
            AND message.due <= ? ORDER BY message.due LIMIT ?
        """
}

extension Database {
    fileprivate func dueRows(
        _ priority: Priority,
        group: DueMessages.Group,
        before: Int64,
        limit: Int
    ) throws -> [(message: OutboxMessage, size: Int)] {
        try self.all(
            DueMessages.rows,
            [priority.rank, group.app, group.queue, group.state, group.blockedOn, before, limit]
        ) { (try Self.outboxMessage($0), $0[5]) }
    }
}
