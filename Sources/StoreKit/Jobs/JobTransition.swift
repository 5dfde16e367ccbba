package import PushModel

/// Every change of a job's state: from where, and to where.
///
/// Nothing else writes the column `state`.
///
/// A job that is unfinished counts for the backlog, and one that waits for its start for another; both follow from the step.
package enum JobTransition: CaseIterable {
    /// A scheduled job's time has come.
    case start
    /// Pages of a campaign are written: it runs, and may still have pages to come.
    case page
    /// All batches of a small send are written.
    case fanOut
    /// A small send without devices.
    case findNoTarget
    /// Every device of an inline batch was accepted.
    case acceptAll
    /// The same, where the batch is as its worker found it.
    case acceptAllAtHint
    /// All of its audience is in batches, and none is open.
    case complete
    /// The hub rejected a send.
    case abandon
    /// A user stops it.
    case cancel
    /// The lifetime is over.
    case expire
    /// A register job is done, or refused.
    case finishRegister
    /// A dead batch is replayed.
    case reopenForBatch
    /// A dead register job is replayed.
    case reopenRegister
    /// A dead send is replayed, from where it was left.
    case reopenSend

    /// Which states it leads from and to; one that is not listed cannot happen.
    package var steps: [(from: Job.State, to: Job.State)] {
        switch self {
        case .start: [(.scheduled, .queued)]
        case .page: [(.queued, .running), (.running, .running)]
        case .fanOut: [(.queued, .running)]
        case .findNoTarget: [(.queued, .completed)]
        case .acceptAll, .acceptAllAtHint: [(.running, .completed)]
        case .complete:
            [(.running, .completed), (.running, .expired), (.cancelling, .cancelled), (.expiring, .expired)]
        case .abandon: [(.queued, .abandoned), (.running, .abandoned)]
        case .cancel: [(.scheduled, .cancelling), (.queued, .cancelling), (.running, .cancelling)]
        case .expire: [(.queued, .expiring), (.running, .expiring)]
        case .finishRegister:
            [Job.State.queued, .running, .cancelling, .expiring, .scheduled].flatMap {
                [(from: $0, to: .completed), (from: $0, to: .abandoned)]
            }
        case .reopenForBatch: [(.completed, .running)]
        case .reopenRegister: [(.abandoned, .queued)]
        case .reopenSend:
            [Job.State.running, .completed, .abandoned].flatMap {
                [(from: $0, to: .queued), (from: $0, to: .running)]
            }
        }
    }

    /// The final state that it leads to; nil if it leads to none, or may lead to several.
    package var end: Job.State? { Self.ends[self] }

    private static let ends = Dictionary(
        uniqueKeysWithValues: Self.allCases.compactMap { transition -> (JobTransition, Job.State)? in
            let ends = Set(transition.steps.map(\.to))
            guard ends.count == 1, let end = ends.first, end.isFinal else { return nil }
            return (transition, end)
        }
    )

    /// What it counts for the backlog.
    ///
    /// - Parameter from: The job's state, where the change depends on it.
    /// - Returns: The change; nil if it leads from no such state.
    package func effect(from: Job.State? = nil) -> BacklogChange? {
        self.steps.first { from == nil || $0.from == from }.map { BacklogChange(from: $0.from, to: $0.to) }
    }
}

/// How many more jobs are unfinished, and how many more wait for their start.
package struct BacklogChange: Equatable {
    package let unfinished: Int
    package let scheduled: Int

    /// The change by one job that goes from one state to another; from none where it is new.
    package init(from: Job.State?, to: Job.State) {
        let before = from.map(Self.counts) ?? (unfinished: 0, scheduled: 0)
        let after = Self.counts(to)
        self.unfinished = after.unfinished - before.unfinished
        self.scheduled = after.scheduled - before.scheduled
    }

    private static func counts(_ state: Job.State) -> (unfinished: Int, scheduled: Int) {
        (state.isFinal || state == .scheduled ? 0 : 1, state == .scheduled ? 1 : 0)
    }
}

extension RegisterResult {
    /// The final state of a job with this result, and its reason: one that is refused, or whose end is unknown, is abandoned.
    package var end: (state: Job.State, reason: String?) {
        switch self {
        case .refused(let words), .unknown(let words): (.abandoned, words)
        case .issued, .done, .superseded, .gone, .notFound, .channels: (.completed, nil)
        }
    }
}
