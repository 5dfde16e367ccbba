package import PushModel
import Store

/// A message that should be at the broker and seems not to be.
package struct DueMessage: Sendable {
    package let message: OutboxMessage
    /// The app's number.
    package let app: Int64
    package let state: MessageState
    /// How many devices a delivery message has.
    package let size: Int

    package init(message: OutboxMessage, app: Int64, state: MessageState, size: Int) {
        self.message = message
        self.app = app
        self.state = state
        self.size = size
    }
}

/// What a search for due messages reads of a store.
package protocol DueSource {
    /// The groups of a priority, in their order.
    func groups(of priority: Priority) throws -> [DueGroup]

    /// Whether a group has a message that was due then.
    func hasDue(_ group: DueGroup, before: Int64) throws -> Bool

    /// The messages of a group that were due then, the longest due first.
    func rows(of group: DueGroup, before: Int64, limit: Int, offset: Int) throws -> [(
        message: OutboxMessage, size: Int
    )]

    /// Whether an app's work in a queue is paused.
    func isPaused(_ queue: WorkQueue, app: Int64) throws -> Bool

    /// What an app has at a push service.
    func load(of app: Int64, at pns: PushService, _ priority: Priority) throws -> ServiceLoad

    /// How many messages of jobs an app has in a queue that are published, or about to be; counts so many at most.
    func jobsInFlight(of app: Int64, in queue: WorkQueue, _ priority: Priority, most: Int) throws -> Int
}

/// Finds due messages, most urgent first.
///
/// Due rows are read in groups that an index keeps apart: however many rows of a group there are, the others are found behind its first.
/// Those that have something due and may be taken share what is taken, in turns (rule 12).
package struct DueMessages: Sendable {
    private let flow: FlowControl
    private let roundRobin: RoundRobin
    private let queues: Set<WorkQueue>
    private let overdue: Duration

    /// How many messages of a group are taken at once that wait for credit: each may find it gone.
    static let wakeLimit = 256

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

        var isEmpty: Bool { self.messages <= 0 || self.credit <= 0 }
    }

    package init(flow: FlowControl, roundRobin: RoundRobin, queues: Set<WorkQueue>, overdue: Duration) {
        self.flow = flow
        self.roundRobin = roundRobin
        self.queues = queues
        self.overdue = overdue
    }

    /// The messages to take, at most so many.
    package func find(limit: Int, in source: some DueSource) throws -> [DueMessage] {
        let priorities = Priority.allCases.sorted()
        let supplies = try priorities.map { try self.supplies(of: $0, limit: limit, in: source) }
        var found: [DueMessage] = []
        for (index, priority) in priorities.enumerated() where found.count < limit {
            let rest = limit - found.count
            // A quarter is left for less urgent ones that are due: an endless flood of urgent messages does not starve all others.
            let isShared = supplies[(index + 1)...].contains { !$0.isEmpty }
            let share = isShared ? max(1, rest * 3 / 4) : rest
            found += try self.take(share, of: supplies[index], self.round(priority), in: source)
        }
        return found
    }

    private func round(_ priority: Priority) -> RoundRobin.Round {
        RoundRobin.Round(queues: self.queues, priority: priority)
    }

    private func supplies(of priority: Priority, limit: Int, in source: some DueSource) throws -> [Supply] {
        var supplies: [Supply] = []
        let groups = self.roundRobin.order(try source.groups(of: priority), in: self.round(priority))
        for group in groups where supplies.count < limit {
            if let supply = try self.supply(of: group, source) { supplies.append(supply) }
        }
        return supplies
    }

    private func take(
        _ limit: Int,
        of supplies: [Supply],
        _ round: RoundRobin.Round,
        in source: some DueSource
    ) throws -> [DueMessage] {
        var supplies = Array(supplies.prefix(limit))
        var found: [DueMessage] = []
        // Unused parts of shares go to the others.
        while found.count < limit, !supplies.isEmpty {
            let share = max(1, (limit - found.count) / supplies.count)
            var rest: [Supply] = []
            for var supply in supplies where found.count < limit {
                let messages = try self.take(min(share, limit - found.count, supply.messages), of: &supply, source)
                found += messages
                self.roundRobin.end(supply.group, in: round)
                if messages.count == share, !supply.isEmpty { rest.append(supply) }
            }
            supplies = rest
        }
        return found
    }

    private func take(_ count: Int, of supply: inout Supply, _ source: some DueSource) throws -> [DueMessage] {
        let rows = try source.rows(of: supply.group, before: supply.before, limit: count, offset: supply.taken)
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

    /// The messages of a group that may be taken now; nil for none.
    private func supply(of group: DueGroup, _ source: some DueSource) throws -> Supply? {
        let queue = try WorkQueue(number: group.queue)
        guard self.queues.contains(queue) else { return nil }
        let state = try MessageState(stored: group.state)
        var before = self.flow.now
        // The process that has accepted it publishes it.
        if state != .deferred, queue.kind != "deliver" { before -= self.overdue.milliseconds }
        guard try source.hasDue(group, before: before), try !source.isPaused(queue, app: group.app) else { return nil }
        var supply = Supply(group: group, state: state, before: before)
        switch (queue, state) {
        case (.deliver(let pns), .ready):
            // Messages in flight are already counted.
            let load = try source.load(of: group.app, at: pns, group.priority)
            supply.credit = self.flow.credit(for: .retry, group.priority, at: load).devices
            supply.messages = self.flow.messages(for: .retry, at: load)
        case (.register, .deferred), (.send, .deferred):
            // What is at the broker, or was, counts already.
            let most = self.flow.window.jobMessages
            supply.messages = most - (try source.jobsInFlight(of: group.app, in: queue, group.priority, most: most))
        case (.deliver, _), (.register, _), (.send, _): break
        }
        if group.blockedOn != 0 { supply.messages = min(supply.messages, try self.wakes(of: group, source)) }
        return supply.isEmpty ? nil : supply
    }

    /// How many messages that wait for credit may find some now.
    private func wakes(of group: DueGroup, _ source: some DueSource) throws -> Int {
        let blocked = BlockedOn(bits: group.blockedOn)
        let kind: CreditKind = blocked.isContinued ? .page : .first
        let wakes = try blocked.services.map { pns in
            let load = try source.load(of: group.app, at: pns, group.priority)
            let devices = self.flow.credit(for: kind, group.priority, at: load).devices
            // A campaign takes what there is, a small send little.
            return blocked.isContinued
                ? (devices + DeliverBatch.maximumDevices - 1) / DeliverBatch.maximumDevices : devices
        }
        return min(wakes.max() ?? 0, Self.wakeLimit)
    }
}
