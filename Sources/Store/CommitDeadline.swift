import Dispatch
import NIOConcurrencyHelpers
import PushModel
import Synchronization

/// How long a request may wait for its first commit.
///
/// Beyond it the request leaves its queue, and nothing of it is written. One whose commit has begun waits for it: whoever is told that
/// nothing was written can rely on it.
package final class CommitDeadline: Sendable {
    /// Of the request that this task works on; nil = it waits as long as it takes.
    @TaskLocal package static var current: CommitDeadline?

    private let end: ContinuousClock.Instant
    private let hasBegun = Atomic(false)

    /// - Parameter time: The time from now.
    package init(_ time: Duration) { self.end = .now + time }

    /// A commit has begun that writes something of the request.
    package func begin() { self.hasBegun.store(true, ordering: .relaxed) }

    /// Until when a commit may begin; nil = one has.
    package var limit: ContinuousClock.Instant? { self.hasBegun.load(ordering: .relaxed) ? nil : self.end }

    /// Whether the time is over, and no commit has begun.
    package func isOver(at now: ContinuousClock.Instant = .now) -> Bool {
        now >= self.end && !self.hasBegun.load(ordering: .relaxed)
    }
}

/// Waits for its commit to begin, and perhaps not for ever.
package protocol AwaitsCommit {
    var deadline: CommitDeadline? { get }
}

extension AwaitsCommit {
    /// Whether its time is over.
    package var isOver: Bool { self.deadline?.isOver() ?? false }
}

extension RangeReplaceableCollection where Element: AwaitsCommit {
    /// Takes those out whose time is over.
    ///
    /// - Returns: Those.
    package mutating func removeOverdue() -> [Element] {
        let now = ContinuousClock.now
        var overdue: [Element] = []
        self.removeAll { element in
            let isOver = element.deadline?.isOver(at: now) ?? false
            if isOver { overdue.append(element) }
            return isOver
        }
        return overdue
    }
}

/// Looks at a queue a few times a second for those whose time is over, as long as there are any with one.
package final class CommitWatch: Sendable {
    private let interval: Duration
    private let isOn = NIOLockedValueBox(false)
    private let queue = DispatchQueue(label: "pushline.commit.deadlines")

    /// - Parameter interval: How often it looks.
    package init(interval: Duration = .milliseconds(100)) { self.interval = interval }

    /// Begins, unless it has.
    ///
    /// - Parameter look: Ends those whose time is over; returns whether there are others with one.
    package func begin(_ look: @escaping @Sendable () -> Bool) {
        let isNew = self.isOn.withLockedValue { isOn in
            defer { isOn = true }
            return !isOn
        }
        if isNew { self.tick(look) }
    }

    private func tick(_ look: @escaping @Sendable () -> Bool) {
        self.queue.asyncAfter(deadline: .now() + self.interval.inSeconds) {
            if look() { return self.tick(look) }
            self.isOn.withLockedValue { $0 = false }
            // One may have come while it was looked.
            if look() { self.begin(look) }
        }
    }
}
