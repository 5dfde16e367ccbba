public import Foundation

/// What sends have in common.
public struct JobFilter: Sendable, Equatable {
    /// The label.
    public var label: String?
    /// A state that is not final.
    public var state: String?
    /// The key that asked for them.
    public var key: String?
    /// The user who asked for them.
    public var user: String?

    /// Makes a filter; one of them is needed.
    public init(label: String? = nil, state: String? = nil, key: String? = nil, user: String? = nil) {
        self.label = label
        self.state = state
        self.key = key
        self.user = user
    }
}

/// What came of cancelling many sends.
public struct BulkCancel: Sendable, Equatable, Codable {
    /// How many match.
    public let matched: Int
    /// How many of them did not end before.
    public let cancelled: Int
    /// How many were left for a further call.
    public let left: Int
    /// Whether there are no more.
    public let isComplete: Bool
}

struct CancelBody: Encodable {
    let label, state, key, user: String?
    let upTo: String
    let dryRun: Bool?
}

/// Dead letters that have queue, type and reason in common.
public struct DeadLetterGroup: Sendable, Equatable, Codable {
    /// The queue they came from.
    public let queue: String
    /// `register`, `send` or `deliver`, unless they are of somebody else.
    public let type: String
    /// The reason of the failure.
    public let reason: String
    /// How many there are.
    public let count: Int
    /// Of how many the work can be done again.
    public let replayable: Int
    /// When the oldest was kept.
    public let oldest: Date
    /// When the newest was kept.
    public let newest: Date
    /// The newest one's number.
    public let example: String
}

/// The groups of an app's dead letters.
public struct DeadLetterGroups: Sendable, Equatable, Codable {
    /// The groups, the most numerous first.
    public let items: [DeadLetterGroup]
    /// The newest number of all; nil = there is none.
    public let upTo: String?
    /// Whether these are all.
    public let isComplete: Bool
}

/// What dead letters have in common.
public struct DeadLetterFilter: Sendable, Equatable {
    /// The queue they came from.
    public var queue: String?
    /// Their type.
    public var type: String?
    /// The whole reason.
    public var reason: String?

    /// Makes a filter; one of them is needed.
    public init(queue: String? = nil, type: String? = nil, reason: String? = nil) {
        self.queue = queue
        self.type = type
        self.reason = reason
    }

    fileprivate func body(upTo last: String, after next: String?) throws -> Data {
        try Coding.body(Body(queue: self.queue, type: self.type, reason: self.reason, upTo: last, after: next))
    }

    private struct Body: Encodable {
        let queue, type, reason: String?
        let upTo: String
        let after: String?
    }
}

/// What came of replaying many dead letters.
public struct BulkReplay: Sendable, Equatable, Codable {
    /// One that cannot be replayed, and stays.
    public struct Refusal: Sendable, Equatable, Codable {
        /// Its number.
        public let id: String
        /// Why not.
        public let reason: String
    }

    /// How many were replayed.
    public let replayed: Int
    /// How many cannot be.
    public let refused: Int
    /// The newest of these.
    public let refusals: [Refusal]
    /// How many were left for a further call.
    public let left: Int
    /// Where that goes on.
    public let next: String?
    /// Whether there are no more than `left` says.
    public let isComplete: Bool
}

/// What came of discarding many dead letters.
public struct BulkDiscard: Sendable, Equatable, Codable {
    /// How many were removed.
    public let discarded: Int
    /// How many were left for a further call.
    public let left: Int
    /// Where that goes on.
    public let next: String?
    /// Whether there are no more than `left` says.
    public let isComplete: Bool
}

extension PushlineClient {
    /// The app's dead letters by what they have in common; for operators.
    ///
    /// - Throws: ``PushlineError``.
    public func deadLetterGroups() async throws -> DeadLetterGroups {
        try await self.value(Call(method: "GET", path: ["dead", "groups"]))
    }

    /// Replays all dead letters that match, up to 1,000 of them; for operators.
    ///
    /// - Parameters:
    ///   - filter: What they have in common.
    ///   - last: The newest number that is meant, as ``DeadLetterGroups/upTo``.
    ///   - next: Where the call before ended.
    /// - Returns: What came of it.
    /// - Throws: ``PushlineError``; ``PushlineError/Code/invalidRequest`` for a filter of nothing.
    public func replay(
        _ filter: DeadLetterFilter,
        upTo last: String,
        after next: String? = nil
    ) async throws -> BulkReplay {
        let body = try filter.body(upTo: last, after: next)
        return try await self.value(Call(method: "POST", path: ["dead", "replay"], body: body))
    }

    /// Removes all dead letters that match, up to 1,000 of them, as ``replay(_:upTo:after:)``; what was counted for them stays.
    public func discard(
        _ filter: DeadLetterFilter,
        upTo last: String,
        after next: String? = nil
    ) async throws -> BulkDiscard {
        let body = try filter.body(upTo: last, after: next)
        return try await self.value(Call(method: "POST", path: ["dead", "discard"], body: body))
    }
}
