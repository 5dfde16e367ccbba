package import PushModel

/// Calls of hubs over a wire (rule 18): a row is committed before each call, and its answer after it.
package protocol HubCallStore: Sendable {
    /// Asks to make a call for some places of a list, and commits that it is about to be made.
    ///
    /// - Parameters:
    ///   - calls: The places.
    ///   - time: How long it may take: after that nobody is at it any more.
    ///   - isWithdrawn: Whether it is not to be made, and only what became of it before is asked.
    /// - Returns: For each whether it may be made.
    /// - Throws: ``StoreError``; then none may.
    func beginHubCalls(
        _ calls: [HubCallKey],
        lasting time: Duration,
        isWithdrawn: Bool
    ) async throws -> [HubCallStart]

    /// Writes what is known of a call that was begun.
    ///
    /// - Parameters:
    ///   - calls: The places that it was made for. The first stands for all when the hub is asked what became of it.
    ///   - fact: What came of it, or what its hub says later.
    /// - Throws: ``StoreError``.
    func recordHubCalls(_ calls: [HubCallKey], _ fact: HubCallFact) async throws

    /// Takes calls whose hub is to be asked what became of them, for a minute: nobody else gets them meanwhile.
    ///
    /// - Parameter limit: The most.
    /// - Returns: The calls.
    /// - Throws: ``StoreError``.
    func takeHubCalls(limit: Int) async throws -> [AskedHubCall]

    /// The first calls of a job, by service and number.
    ///
    /// - Throws: ``StoreError``.
    func hubCalls(of job: JobID, app: AppID, limit: Int) async throws -> [HubCall]
}

/// Names a call: a place in its job's list.
package struct HubCallKey: Hashable, Sendable {
    package let job: JobID
    package let pns: PushService
    /// As `Recipient.number`.
    package let number: Int64

    package init(job: JobID, pns: PushService, number: Int64) {
        self.job = job
        self.pns = pns
        self.number = number
    }
}

/// Whether a call may be made.
package enum HubCallStart: Sendable, Equatable {
    /// It may, once.
    case begun
    /// The hub took it before.
    case taken
    /// Another process may be at it, for so long at most.
    case underWay(Duration)
    /// Whoever was at it died before the answer came: it may have been taken, and is not made again.
    case unknown
    /// It may not, and the hub has not taken it before: it is withdrawn, or its job is being stopped or over.
    case withdrawn

    /// The reason of the failure of what is unknown so.
    package static let unknownReason =
        "the process ended during the call: it is not known whether the hub took it"
}

/// What is known of a call.
package enum HubCallFact: Sendable, Equatable {
    /// What came of it.
    case ended(HubCallEnd)
    /// What its hub says, and whether it is asked again.
    case said(HubCallNews)
}

/// What came of a call.
package enum HubCallEnd: Sendable, Equatable {
    /// The hub took it, and gave it this id; with an id it is asked later what became of it.
    case taken(id: String?)
    /// It surely did not, and the call may be made again.
    case notTaken
    /// It surely did not, and never will.
    case refused
    /// It may have.
    case unknown
}

/// A call that a hub is to be asked about.
package struct AskedHubCall: Sendable, Equatable {
    package let key: HubCallKey
    package let app: AppID
    /// The hub's id for it.
    package let id: String
    /// How often it was asked before.
    package let asked: Int
    /// The request that asked for its job, if that is known.
    package let request: RequestID?

    package init(key: HubCallKey, app: AppID, id: String, asked: Int, request: RequestID? = nil) {
        self.key = key
        self.app = app
        self.id = id
        self.asked = asked
        self.request = request
    }

    package var trace: JobTrace { JobTrace(self.key.job, request: self.request) }
}

/// The answer of a hub that is asked about a call.
package enum HubCallNews: Sendable, Equatable {
    /// This outcome, or nothing new (nil); the hub is asked again after `again`.
    case pending(HubCall.Outcome?, again: Duration)
    /// Its last word.
    case complete(HubCall.Outcome)
    /// The hub never says anything: its tier has no telemetry.
    case notOffered
    /// This outcome, or nothing new (nil); the hub is asked no more.
    case ended(HubCall.Outcome?)
}

/// A call as its job shows it.
package struct HubCall: Sendable, Equatable {
    package enum State: String, Sendable, CaseIterable {
        /// It is being made.
        case submitting
        /// The hub did not take it yet; it is made again.
        case waiting
        case taken
        case refused
        /// Nobody knows whether the hub took it.
        case unknown
    }

    /// Whether the hub says what became of a call that it took.
    package enum Telemetry: String, Sendable, CaseIterable {
        /// The hub is asked again: it has said nothing yet, or not its last word.
        case pending
        /// The hub has said its last word.
        case complete
        /// The hub never says anything: its tier has no telemetry.
        case notOffered = "not-offered"
        /// The hub is asked no more, and has not said its last word.
        case ended
        /// The handle went in a call with others; the first of them has what the hub says.
        case together
    }

    /// What the hub says became of it.
    package struct Outcome: Sendable, Equatable {
        /// The hub's own word.
        package let state: String
        /// The devices, by the hub's word for what became of them.
        package let devices: [String: Int]

        package init(state: String, devices: [String: Int]) {
            self.state = state
            self.devices = devices
        }
    }

    package let key: HubCallKey
    package let state: State
    /// The hub's id for it.
    package let id: String?
    package let outcome: Outcome?
    /// nil = the hub did not take it, as far as is known.
    package let telemetry: Telemetry?

    package init(key: HubCallKey, state: State, id: String?, outcome: Outcome?, telemetry: Telemetry?) {
        self.key = key
        self.state = state
        self.id = id
        self.outcome = outcome
        self.telemetry = telemetry
    }
}
