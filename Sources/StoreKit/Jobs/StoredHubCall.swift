package import PushModel
package import Store

/// A call of a hub as it is stored: what became of it, and whether it may be made (rule 18).
package struct StoredHubCall: Equatable {
    package let state: HubCall.State
    /// After this nobody is at it, where it is being made; by the store's clock.
    package let until: Int64

    package init(state: HubCall.State, until: Int64) {
        self.state = state
        self.until = until
    }

    /// How long whoever takes calls to ask about has them.
    package static let lease = Duration.seconds(60)
    /// When a hub is first asked what became of a call.
    package static let firstLook = Duration.seconds(2)

    /// Whether nobody is at it any more who would write its end: it may have been taken.
    package func isLost(at now: Int64) -> Bool { self.state == .submitting && self.until <= now }

    /// Its state now.
    package func state(at now: Int64) -> HubCall.State { self.isLost(at: now) ? .unknown : self.state }

    /// What came of it; nil = it was not made, or not taken.
    package func start(at now: Int64) -> HubCallStart? {
        switch self.state(at: now) {
        case .taken: .taken
        case .unknown: .unknown
        case .submitting: .underWay(.milliseconds(self.until.clampedSubtracting(now)))
        case .waiting, .refused: nil
        }
    }

    /// Whether a call of a job may be made that was not taken: behind the change that stops a job none of its calls begins.
    package static func mayBegin(of job: Job.State, ends: Int64?, at now: Int64) -> Bool {
        job.stopCause == nil && !job.isFinal && ends ?? 0 > now
    }
}

extension HubCallEnd {
    /// The state that it leaves.
    package var state: HubCall.State {
        switch self {
        case .taken: .taken
        case .notTaken: .waiting
        case .refused: .refused
        case .unknown: .unknown
        }
    }
}

extension HubCallNews {
    /// What the hub says became of the call, if it says anything new.
    package var outcome: HubCall.Outcome? {
        switch self {
        case .pending(let outcome, _), .ended(let outcome): outcome
        case .complete(let outcome): outcome
        case .notOffered: nil
        }
    }

    /// When to ask again; nil = never.
    package var wait: Duration? { if case .pending(_, let wait) = self { wait } else { nil } }

    /// Whether more is to come.
    package var telemetry: HubCall.Telemetry {
        switch self {
        case .pending: .pending
        case .complete: .complete
        case .notOffered: .notOffered
        case .ended: .ended
        }
    }
}

extension HubCall.Telemetry {
    /// Of a place whose call was taken; the first place of a call stands for all.
    package init(ofTaken id: String?, isFirst: Bool) {
        // A tier without telemetry gives no id to ask by.
        self = id == nil ? .notOffered : isFirst ? .pending : .together
    }

    /// Reads the column's value.
    package init(stored text: String) throws(StoreError) {
        guard let telemetry = HubCall.Telemetry(rawValue: text) else {
            throw StoreError(.corrupt, "a call of a hub has no such telemetry")
        }
        self = telemetry
    }
}

extension HubCall.State {
    /// Reads the column's value.
    package init(stored text: String) throws(StoreError) {
        guard let state = HubCall.State(rawValue: text) else {
            throw StoreError(.corrupt, "a call of a hub has no such state")
        }
        self = state
    }
}
