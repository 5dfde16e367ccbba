import PushModel
package import Store

/// A call of a hub as its row has it.
package struct StoredHubCall: Sendable {
    package let state: HubCall.State
    /// After this nobody is at it, if it is being made; by the store's clock.
    package let until: Int64

    package init(state: HubCall.State, until: Int64) {
        self.state = state
        self.until = until
    }

    /// Its state by now: a call that nobody is at any more is unknown.
    package func state(at now: Int64) -> HubCall.State {
        self.state == .submitting && self.until <= now ? .unknown : self.state
    }

    /// What is known of it; nil = it may be made.
    package func known(at now: Int64) -> HubCallStart? {
        switch self.state(at: now) {
        case .taken: .taken
        case .unknown: .unknown
        case .submitting: .underWay(.milliseconds(self.until.clampedSubtracting(now)))
        case .waiting, .refused: nil
        }
    }
}

extension HubCallEnd {
    /// The state of a call that ended so.
    package var state: HubCall.State {
        switch self {
        case .taken: .taken
        case .notTaken: .waiting
        case .refused: .refused
        case .unknown: .unknown
        }
    }

    /// Whether the hub is asked about the call: of several places the first asks for all, and a tier without telemetry gives no id.
    package func telemetry(isFirst: Bool) -> HubCall.Telemetry? {
        guard case .taken(let id) = self else { return nil }
        return id == nil ? .notOffered : isFirst ? .pending : .together
    }
}

extension HubCallNews {
    package var outcome: HubCall.Outcome? {
        switch self {
        case .pending(let outcome, _), .ended(let outcome): outcome
        case .complete(let outcome): outcome
        case .notOffered: nil
        }
    }

    /// When to ask again; nil = never.
    package var wait: Duration? { if case .pending(_, let wait) = self { wait } else { nil } }

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
