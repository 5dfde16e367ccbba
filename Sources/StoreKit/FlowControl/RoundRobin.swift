package import PushModel
import Synchronization

/// Messages of a priority, app, queue and state that wait for the same; ordered as the index is that keeps them apart.
package struct DueGroup: Comparable, Hashable, Sendable {
    package let priority: Priority
    package let app: Int64
    package let queue: Int
    package let state: Int
    package let blockedOn: Int

    package init(priority: Priority, app: Int64, queue: Int, state: Int, blockedOn: Int) {
        self.priority = priority
        self.app = app
        self.queue = queue
        self.state = state
        self.blockedOn = blockedOn
    }

    package static func < (lhs: DueGroup, rhs: DueGroup) -> Bool { lhs.order < rhs.order }

    private var order: (Int, Int64, Int, Int, Int) {
        (self.priority.rank, self.app, self.queue, self.state, self.blockedOn)
    }
}

/// The turns of groups, if more have due messages than are taken at a time (rule 12).
///
/// Only in memory: one process sweeps at a time, and another may begin anywhere.
package final class RoundRobin: Sendable {
    /// Each kind of look goes round by itself.
    package struct Round: Hashable, Sendable {
        let queues: Set<WorkQueue>
        let priority: Priority

        package init(queues: Set<WorkQueue>, priority: Priority) {
            self.queues = queues
            self.priority = priority
        }
    }

    private let last = Mutex<[Round: DueGroup]>([:])

    package init() {}

    /// Records that a group had its turn.
    package func end(_ group: DueGroup, in round: Round) { self.last.withLock { $0[round] = group } }

    /// Puts the groups first that are behind the one that had its turn last.
    package func order(_ groups: [DueGroup], in round: Round) -> [DueGroup] {
        guard let last = self.last.withLock({ $0[round] }) else { return groups }
        let start = groups.firstIndex { last < $0 } ?? 0
        return Array(groups[start...] + groups[..<start])
    }
}
