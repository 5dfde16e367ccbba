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

/// The bundles that this process is at, and how many of them are planned at once.
///
/// Bundles of one app and priority share a window: more than a few at once would only wait for it together.
final class BundlesInWork: Sendable {
    /// So many of an app and priority: while some are written, in one commit, others are read and published.
    static let together = 8
    /// So many more wait for their turn.
    static let line = 64

    /// What bundles share a window.
    struct Kind: Hashable {
        let app: AppID
        let priority: Priority
    }

    private struct Line {
        var running = 0
        var waiting: Deque<CheckedContinuation<Bool, Never>> = []
        /// The services of the bundle that ended last: the next one's, most likely.
        var services: Set<PNS> = []
    }

    private struct State {
        var bundles: Set<BundleID> = []
        var lines: [Kind: Line] = [:]
    }

    private let state = NIOLockedValueBox(State())

    /// - Returns: false when the process is at that bundle already.
    func begin(_ bundle: BundleID) -> Bool { self.state.withLockedValue { $0.bundles.insert(bundle).inserted } }

    func end(_ bundle: BundleID) { self.state.withLockedValue { _ = $0.bundles.remove(bundle) } }

    /// Waits for a turn; ``leave(_:services:)`` gives it on.
    ///
    /// A cancelled task waits all the same, for whoever has the turn is cancelled with it.
    ///
    /// - Returns: The services of the bundle before; nil = the line is too long.
    func enter(_ kind: Kind) async -> Set<PNS>? {
        let hasTurn = await withCheckedContinuation { continuation in
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
        guard hasTurn else { return nil }
        return self.state.withLockedValue { $0.lines[kind]?.services ?? [] }
    }

    /// Takes a turn if there is one now; ``leave(_:services:)`` gives it on.
    ///
    /// - Returns: The services of the bundle before; nil = others are before it.
    func enterAtOnce(_ kind: Kind) -> Set<PNS>? {
        self.state.withLockedValue { state in
            let line = state.lines[kind] ?? Line()
            guard line.running < Self.together else { return nil }
            state.lines[kind, default: Line()].running += 1
            return line.services
        }
    }

    func leave(_ kind: Kind, services: Set<PNS>) {
        let next = self.state.withLockedValue { state -> CheckedContinuation<Bool, Never>? in
            state.lines[kind]?.services = services
            if let next = state.lines[kind]?.waiting.popFirst() { return next }
            state.lines[kind]?.running -= 1
            if state.lines[kind]?.running == 0 { state.lines[kind] = nil }
            return nil
        }
        next?.resume(returning: true)
    }
}
