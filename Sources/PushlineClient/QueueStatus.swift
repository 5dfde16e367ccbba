public import Foundation

/// A queue with an app's work in it.
public struct QueueStatus: Sendable, Equatable, Codable {
    /// Why it is not worked on.
    public struct Pause: Sendable, Equatable, Codable {
        /// Whether it is paused for all apps, not for this one alone.
        public let allApps: Bool
        /// Who asked for it.
        public let by: String?
        /// Since when.
        public let since: Date
    }

    /// What the broker says of one of its queues.
    public struct Depth: Sendable, Equatable, Codable {
        /// The broker's name of it.
        public let queue: String
        /// Messages of all apps that nobody has been handed.
        public let ready: Int
        /// Workers that take messages from it.
        public let consumers: Int
    }

    /// `register`, `send`, `deliver.` and a push service, `dead`, or `parking`.
    public let name: String
    /// Whether it is paused for the app; `dead` and `parking` cannot be paused.
    public let paused: Bool?
    /// What keeps it so.
    public let pauses: [Pause]?
    /// The app's jobs that are not worked through; of a deliver queue: batches that wait.
    public let waiting: Int?
    /// The app's batches that are at the broker or at a worker.
    public let open: Int?
    /// The app's batches that workers have deferred.
    public let deferred: Int?
    /// What the broker knows, a line a priority; nil where it cannot be asked.
    public let broker: [Depth]?
}

/// The queues, and how the broker is.
public struct QueueList: Sendable, Equatable, Codable {
    /// All queues, `dead`, and `parking`.
    public let items: [QueueStatus]
    /// What keeps the broker from telling, or from taking messages; nil = nothing.
    public let brokerFault: String?
}

extension PushlineClient {
    /// The queues with the app's work in them; for operators.
    ///
    /// - Throws: ``PushlineError``.
    public func queues() async throws -> QueueList {
        try await self.value(Call(method: "GET", path: ["queues"]))
    }

    /// Pauses a queue for the app until it is resumed, whatever is restarted; for operators.
    ///
    /// - Throws: ``PushlineError``; ``PushlineError/Code/notFound`` when there is no such queue.
    public func pause(queue name: String) async throws -> QueueStatus {
        try await self.value(Call(method: "POST", path: ["queues", name, "pause"]))
    }

    /// Has the app's work in a queue go on; for operators.
    ///
    /// - Throws: ``PushlineError``; ``PushlineError/Code/conflict`` while it is paused for all apps.
    public func resume(queue name: String) async throws -> QueueStatus {
        try await self.value(Call(method: "POST", path: ["queues", name, "resume"]))
    }
}
