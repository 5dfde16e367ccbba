import NIOConcurrencyHelpers
import PushModel

/// Messages of an app, queue and state that wait for the same; ordered as the index is that keeps them apart.
struct DueGroup: Comparable, Sendable {
    let app: Int64
    let queue: Int
    let state: Int
    let blockedOn: Int

    static func < (lhs: DueGroup, rhs: DueGroup) -> Bool {
        (lhs.app, lhs.queue, lhs.state, lhs.blockedOn) < (rhs.app, rhs.queue, rhs.state, rhs.blockedOn)
    }
}

/// The turns of groups, if more have due messages than are taken at a time (rule 12).
///
/// Only in memory: one process sweeps at a time, and another may begin anywhere.
final class RoundRobin: Sendable {
    /// Each kind of look goes round by itself.
    struct Round: Hashable, Sendable {
        let queues: Set<WorkQueue>
        let priority: Priority
    }

    private let last = NIOLockedValueBox<[Round: DueGroup]>([:])

    /// Records that a group had its turn.
    func end(_ group: DueGroup, in round: Round) { self.last.withLockedValue { $0[round] = group } }

    /// Puts the groups first that are behind the one that had its turn last.
    func order(_ groups: [DueGroup], in round: Round) -> [DueGroup] {
        guard let last = self.last.withLockedValue({ $0[round] }) else { return groups }
        let start = groups.firstIndex { last < $0 } ?? 0
        return Array(groups[start...] + groups[..<start])
    }
}
