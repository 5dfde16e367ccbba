public import Foundation

/// A message that nobody could work on.
public struct DeadLetter: Sendable, Equatable, Codable, Identifiable {
    /// What can be read of a message's body.
    public struct Contents: Sendable, Equatable, Codable {
        /// How many batches it holds.
        public let batches: Int?
        /// How many devices they have.
        public let devices: Int?
        /// The push service.
        public let pns: Platform?
        /// `high`, `normal` or `low`.
        public let priority: String?
        /// The page of the job's audience.
        public let page: Int?
        /// The attempt of the page.
        public let attempt: Int?
        /// After this nothing of it would have been sent.
        public let expires: Date?
        /// The size of what is said.
        public let payloadBytes: Int?
        /// The addresses of the first devices, shortened.
        public let handles: [String]?
        /// Why it cannot be read.
        public let unreadable: String?
    }

    /// A number.
    public let id: String
    /// The app that it belongs to; nil where it names none.
    public let app: String?
    /// When it was kept.
    public let at: Date
    /// The queue it came from.
    public let queue: String
    /// `register`, `send` or `deliver`, unless it is of somebody else.
    public let type: String
    /// Its `message-id`: the number of its row in the outbox.
    public let message: String
    /// Why nobody could work on it.
    public let reason: String
    /// The size of its body.
    public let bytes: Int
    /// The job that it is about, where it is one.
    public let job: String?
    /// Whether its work can be done again.
    public let canReplay: Bool
    /// Why not.
    public let blockedReason: String?
    /// What can be read of its body; in lists nil.
    public let contents: Contents?
}

/// What came of replaying a dead message.
public struct DeadLetterReplay: Sendable, Equatable, Codable {
    /// The job that goes on.
    public let job: String
    /// How many devices are tried again, where it was a batch.
    public let devices: Int?
}

extension PushlineClient {
    /// The app's dead messages, newest first; for operators.
    ///
    /// - Parameters:
    ///   - limit: The most to return, 1 to 1000.
    ///   - cursor: From the piece before.
    /// - Returns: A piece of the list.
    /// - Throws: ``PushlineError``.
    public func deadLetters(limit: Int? = nil, cursor: String? = nil) async throws -> Page<DeadLetter> {
        let query = [("limit", limit.map(String.init)), ("cursor", cursor)]
        return try await self.value(Call(method: "GET", path: ["dead"], query: query))
    }

    /// A dead message with what can be read of its body; for operators.
    ///
    /// - Throws: ``PushlineError``; ``PushlineError/Code/notFound`` when there is none of that number.
    public func deadLetter(_ id: String) async throws -> DeadLetter {
        try await self.value(Call(method: "GET", path: ["dead", id]))
    }

    /// Has the work of a dead message be done again, once; for operators.
    ///
    /// - Throws: ``PushlineError``; ``PushlineError/Code/conflict`` when it cannot be, ``PushlineError/Code/notFound`` when it is gone.
    public func replay(deadLetter id: String) async throws -> DeadLetterReplay {
        try await self.value(Call(method: "POST", path: ["dead", id, "replay"]))
    }

    /// Removes a dead message, for operators; what was counted for it stays.
    ///
    /// - Throws: ``PushlineError``; ``PushlineError/Code/notFound`` when it is gone.
    public func discard(deadLetter id: String) async throws {
        try await self.answer(Call(method: "DELETE", path: ["dead", id]))
    }
}
