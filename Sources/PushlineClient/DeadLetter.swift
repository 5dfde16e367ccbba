public import Foundation

/// A message that no worker could process.
public struct DeadLetter: Sendable, Equatable, Codable, Identifiable {
    /// The readable part of a message's body.
    public struct Contents: Sendable, Equatable, Codable {
        /// How many batches it holds.
        public let batches: Int?
        /// How many devices they have.
        public let devices: Int?
        /// The push service.
        public let service: PushNotification.Service?
        /// `high`, `normal` or `low`.
        public let priority: String?
        /// The page of the job's audience.
        public let page: Int?
        /// The attempt of the page.
        public let attempt: Int?
        /// After this nothing of it would have been sent.
        public let expires: Date?
        /// The size of the payload.
        public let payloadBytes: Int?
        /// The addresses of the first devices, shortened.
        public let handles: [String]?
        /// Why it cannot be read.
        public let unreadable: String?
    }

    /// A number.
    public let id: String
    /// The app that it belongs to; nil if it names none.
    public let app: String?
    /// When it was kept.
    public let at: Date
    /// The queue it came from.
    public let queue: String
    /// `register`, `send` or `deliver`, unless it is of somebody else.
    public let type: String
    /// Its `message-id`, if it is of somebody else.
    public let message: String?
    /// The reason of the failure.
    public let reason: String
    /// The size of its body.
    public let bytes: Int
    /// The job that it is about, if it is one.
    public let job: String?
    /// Whether its work can be done again.
    public let canReplay: Bool
    /// Why not.
    public let blockedReason: String?
    /// The readable part of its body; nil in lists.
    public let contents: Contents?
}

/// The result of a replayed dead letter.
public struct DeadLetterReplay: Sendable, Equatable, Codable {
    /// The job that continues.
    public let job: String
    /// How many devices are tried again, if it was a batch.
    public let devices: Int?
}

extension PushlineClient {
    /// The app's dead letters, newest first; for operators.
    ///
    /// - Parameters:
    ///   - job: Only those of that job.
    ///   - limit: The most to return, 1 to 1000.
    ///   - cursor: From the piece before.
    /// - Returns: A piece of the list.
    /// - Throws: ``PushlineError``.
    public func deadLetters(
        of job: String? = nil,
        limit: Int? = nil,
        cursor: String? = nil
    ) async throws -> Page<DeadLetter> {
        let query = [("job", job), ("limit", limit.map(String.init)), ("cursor", cursor)]
        return try await self.value(Call(method: "GET", path: ["dead"], query: query))
    }

    /// A dead letter with the readable part of its body; for operators.
    ///
    /// - Throws: ``PushlineError``; ``PushlineError/Code/notFound`` for an unknown number.
    public func deadLetter(_ id: String) async throws -> DeadLetter {
        try await self.value(Call(method: "GET", path: ["dead", id]))
    }

    /// Replays a dead letter, once; for operators.
    ///
    /// - Throws: ``PushlineError``; ``PushlineError/Code/conflict`` when it cannot be, ``PushlineError/Code/notFound`` when it is gone.
    public func replay(deadLetter id: String) async throws -> DeadLetterReplay {
        try await self.value(Call(method: "POST", path: ["dead", id, "replay"]))
    }

    /// Removes a dead letter, for operators; its devices stay counted.
    ///
    /// - Throws: ``PushlineError``; ``PushlineError/Code/notFound`` if it is gone.
    public func discard(deadLetter id: String) async throws {
        try await self.answer(Call(method: "DELETE", path: ["dead", id]))
    }
}
