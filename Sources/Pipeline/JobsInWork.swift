import DequeModule
import NIOConcurrencyHelpers
import PushModel

/// The send jobs that this process is at.
final class JobsInWork: Sendable {
    private let jobs = NIOLockedValueBox<Set<JobID>>([])

    /// - Returns: false when the process is at that job already.
    func begin(_ job: JobID) -> Bool { self.jobs.withLockedValue { $0.insert(job).inserted } }

    func end(_ job: JobID) { self.jobs.withLockedValue { _ = $0.remove(job) } }
}

/// Bounds the sends with many names that this process is at.
final class LargeClaims: Sendable {
    /// So many at a time.
    static let together = 64

    private let count = NIOLockedValueBox(0)

    /// - Returns: false when there are enough.
    func enter() -> Bool {
        self.count.withLockedValue { count in
            guard count < Self.together else { return false }
            count += 1
            return true
        }
    }

    func leave() { self.count.withLockedValue { $0 -= 1 } }
}

/// The bundles that this process is at, and how many of them are planned at once.
///
/// Bundles of one app and priority share a window: more than a few at once would only wait for it together.
final class BundlesInWork: Sendable {
    /// So many of an app and priority: while some are written, in one commit, others are read and published.
    static let together = 8
    /// So many more wait for their turn.
    static let line = 512
    /// A window that was full for so long may stay so.
    static let patience = Duration.seconds(2)

    /// What bundles share a window.
    struct Kind: Hashable {
        let app: AppID
        let priority: Priority
    }

    private struct Line {
        var running = 0
        var waiting: Deque<CheckedContinuation<Bool, Never>> = []
    }

    private struct State {
        var bundles: Set<BundleID> = []
        var lines: [Kind: Line] = [:]
        /// Since when windows are full.
        var full: [Kind: [PNS: ContinuousClock.Instant]] = [:]
    }

    private let state = NIOLockedValueBox(State())

    /// - Returns: false when the process is at that bundle already.
    func begin(_ bundle: BundleID) -> Bool { self.state.withLockedValue { $0.bundles.insert(bundle).inserted } }

    func end(_ bundle: BundleID) { self.state.withLockedValue { _ = $0.bundles.remove(bundle) } }

    /// Waits for a turn; ``leave(_:)`` gives it on.
    ///
    /// A cancelled task waits all the same, for whoever has the turn is cancelled with it.
    ///
    /// - Returns: false when the line is too long.
    func enter(_ kind: Kind) async -> Bool {
        await withCheckedContinuation { continuation in
            let answer = self.state.withLockedValue { state -> Bool? in
                var line = state.lines[kind] ?? Line()
                defer { state.lines[kind] = line }
                if line.running < Self.together {
                    line.running += 1
                    return true
                }
                guard line.waiting.count < Self.line else { return false }
                line.waiting.append(continuation)
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    /// Takes a turn if there is one now; ``leave(_:)`` gives it on.
    ///
    /// - Returns: false when others are before it.
    func enterAtOnce(_ kind: Kind) -> Bool {
        self.state.withLockedValue { state in
            guard state.lines[kind]?.running ?? 0 < Self.together else { return false }
            state.lines[kind, default: Line()].running += 1
            return true
        }
    }

    func leave(_ kind: Kind) {
        let next = self.state.withLockedValue { state -> CheckedContinuation<Bool, Never>? in
            if let next = state.lines[kind]?.waiting.popFirst() { return next }
            state.lines[kind]?.running -= 1
            if state.lines[kind]?.running == 0 { state.lines[kind] = nil }
            return nil
        }
        next?.resume(returning: true)
    }

    /// Notes which of some services have full windows now.
    ///
    /// - Returns: All whose windows have been full for longer than anybody should wait.
    func note(
        _ kind: Kind,
        full: Set<PNS>,
        of services: some Sequence<PNS>,
        now: ContinuousClock.Instant = .now
    ) -> Set<PNS> {
        self.state.withLockedValue { state in
            var since = state.full[kind] ?? [:]
            for pns in services { since[pns] = full.contains(pns) ? since[pns] ?? now : nil }
            state.full[kind] = since.isEmpty ? nil : since
            return Set(since.filter { $0.value.duration(to: now) > Self.patience }.keys)
        }
    }
}
