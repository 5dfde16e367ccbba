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

/// Finds due messages, most urgent first.
///
/// Due rows are read in groups that an index keeps apart: however many rows of a group there are, the others are found behind its first.
/// Those that have something due and may be taken share what is taken, in turns (rule 12).
struct DueMessages: Sendable {
    let flow: FlowControl
    let roundRobin: RoundRobin
    let queues: Set<WorkQueue>
    let overdue: Duration

    /// How many messages of a group are taken at once that wait for credit: each may find it gone.
    private static let wakeLimit = 256

    /// The messages that may be taken of a group.
    private struct Supply {
        let group: DueGroup
        let state: MessageState
        /// Due by then.
        let before: Int64
        /// How many messages.
        var messages = Int.max
        /// In them, how many devices: the last message may go beyond.
        var credit = Int.max
        var taken = 0
    }

    func find(limit: Int, in database: Database) throws -> [DueMessage] {
        let priorities = Priority.allCases.sorted()
        let supplies = try priorities.map { try self.supplies(of: $0, limit: limit, in: database) }
        var found: [DueMessage] = []
        for (index, priority) in priorities.enumerated() where found.count < limit {
            let rest = limit - found.count
            // A quarter is left for less urgent ones that are due: an endless flood of urgent messages does not starve all others.
            let isShared = supplies[(index + 1)...].contains { !$0.isEmpty }
            found += try self.take(isShared ? max(1, rest * 3 / 4) : rest, of: supplies[index], priority, in: database)
        }
        return found
    }

    private func supplies(of priority: Priority, limit: Int, in database: Database) throws -> [Supply] {
        let round = RoundRobin.Round(queues: self.queues, priority: priority)
        var supplies: [Supply] = []
        for group in self.roundRobin.order(try database.groups(of: priority), in: round) where supplies.count < limit {
            if let supply = try self.supply(of: group, priority: priority, database) { supplies.append(supply) }
        }
        return supplies
    }

    private func take(
        _ limit: Int,
        of supplies: [Supply],
        _ priority: Priority,
        in database: Database
    ) throws -> [DueMessage] {
        let round = RoundRobin.Round(queues: self.queues, priority: priority)
        var supplies = Array(supplies.prefix(limit))
        var found: [DueMessage] = []
        // Unused parts of shares go to the others.
        while found.count < limit, !supplies.isEmpty {
            let share = max(1, (limit - found.count) / supplies.count)
            var rest: [Supply] = []
            for var supply in supplies where found.count < limit {
                let count = min(share, limit - found.count, supply.messages)
                let messages = try self.take(count, of: &supply, priority: priority, database)
                found += messages
                self.roundRobin.end(supply.group, in: round)
                if messages.count == share, supply.messages > 0, supply.credit > 0 { rest.append(supply) }
            }
            supplies = rest
        }
        return found
    }

    /// The messages of a group that may be taken now; nil for none.
    private func supply(of group: DueGroup, priority: Priority, _ database: Database) throws -> Supply? {
        let queue = try WorkQueue(number: group.queue)
        guard self.queues.contains(queue) else { return nil }
        guard let state = MessageState(rawValue: group.state) else {
            throw StoreError(.corrupt, "a message has an unknown state")
        }
        var before = self.flow.now
        // The process that has accepted it publishes it.
        if state != .deferred, queue.kind != "deliver" { before -= self.overdue.milliseconds }
        guard try database.hasDue(group, priority, before: before), try !database.isPaused(queue, app: group.app) else {
            return nil
        }
        var supply = Supply(group: group, state: state, before: before)
        if case .deliver(let pns) = queue, state == .ready {
            // Messages in flight are already counted.
            let (app, flow) = (group.app, self.flow)
            supply.credit = try flow.credit(for: .retry, app: app, pns: pns, priority: priority, in: database).devices
            supply.messages = try flow.messages(for: .retry, app: app, pns: pns, priority: priority, in: database)
        }
        if state == .deferred, queue.kind != "deliver" {
            // What is at the broker, or was, counts already.
            let credit = try self.flow.jobCredit(in: queue, app: group.app, priority: priority, in: database)
            supply.messages = min(supply.messages, credit)
        }
        if group.blockedOn != 0 {
            supply.messages = min(supply.messages, try self.wakes(of: group, priority: priority, in: database))
        }
        return supply.messages > 0 && supply.credit > 0 ? supply : nil
    }

    private func take(
        _ count: Int,
        of supply: inout Supply,
        priority: Priority,
        _ database: Database
    ) throws -> [DueMessage] {
        let rows = try database.dueRows(
            supply.group,
            priority,
            before: supply.before,
            limit: count,
            offset: supply.taken
        )
        var messages: [DueMessage] = []
        for row in rows where supply.credit > 0 {
            supply.credit -= row.size
            messages.append(
                DueMessage(message: row.message, app: supply.group.app, state: supply.state, size: row.size)
            )
        }
        supply.taken += messages.count
        supply.messages -= messages.count
        return messages
    }

    /// How many messages that wait for credit may find some now.
    private func wakes(of group: DueGroup, priority: Priority, in database: Database) throws -> Int {
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
}

extension DueMessages {
    /// The next group after another one.
    ///
    /// SQLite seeks the first row at or after these values: without a due time it would walk through the whole group.
    static let nextGroup = """
        SELECT app, queue, state, blocked_on FROM message
        WHERE priority = ? AND (app, queue, state, blocked_on, due) > (?, ?, ?, ?, \(Int64.max))
        ORDER BY app, queue, state, blocked_on LIMIT 1
        """

    /// Whether a group has something due.
    static let hasDue = """
        SELECT 1 FROM message WHERE priority = ? AND app = ? AND queue = ? AND state = ? AND blocked_on = ? AND due <= ?
        """

    /// The due messages of a group.
    static let rows = """
        SELECT \(Database.outboxColumns), message.size FROM message JOIN app ON app.number = message.app
        WHERE message.priority = ? AND message.app = ? AND message.queue = ? AND message.state = ? AND message.blocked_on = ?
            AND message.due <= ? ORDER BY message.due LIMIT ? OFFSET ?
        """
}

extension Database {
    /// The groups of messages of a priority, each found by one look.
    func groups(of priority: Priority) throws -> [DueGroup] {
        var groups: [DueGroup] = []
        var last = DueGroup(app: -1, queue: 0, state: 0, blockedOn: 0)
        while let next = try self.nextGroup(priority, behind: last) {
            last = next
            groups.append(last)
        }
        return groups
    }

    private func nextGroup(_ priority: Priority, behind last: DueGroup) throws -> DueGroup? {
        try self.first(
            DueMessages.nextGroup,
            [priority.rank, last.app, last.queue, last.state, last.blockedOn]
        ) { DueGroup(app: $0[0], queue: $0[1], state: $0[2], blockedOn: $0[3]) }
    }

    fileprivate func hasDue(_ group: DueGroup, _ priority: Priority, before: Int64) throws -> Bool {
        try self.exists(
            DueMessages.hasDue,
            [priority.rank, group.app, group.queue, group.state, group.blockedOn, before]
        )
    }

    fileprivate func dueRows(
        _ group: DueGroup,
        _ priority: Priority,
        before: Int64,
        limit: Int,
        offset: Int
    ) throws -> [(message: OutboxMessage, size: Int)] {
        try self.all(
            DueMessages.rows,
            [priority.rank, group.app, group.queue, group.state, group.blockedOn, before, limit, offset]
        ) { (try Self.outboxMessage($0), $0[5]) }
    }
}
