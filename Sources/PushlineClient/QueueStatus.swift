public import Foundation

/// A queue with an app's work in it.
public struct QueueStatus: Sendable, Equatable, Codable {
    /// Why it is not worked on.
    public struct Pause: Sendable, Equatable, Codable {
        /// Whether it applies to all apps, not only to this one.
        public let allApps: Bool
        /// The author of the pause.
        public let by: String?
        /// Since when.
        public let since: Date
    }

    /// Work that was tried and is to be tried again, or that a worker gave back.
    public struct Delay: Sendable, Equatable, Codable {
        /// How long its job has waited.
        public let seconds: Int
        /// Why it did not get on when it was tried last.
        public let reason: String
    }

    /// `register`, `send`, or `deliver.` and a push service.
    public let name: String
    /// Whether it is paused for the app.
    public let paused: Bool
    /// The pauses in force.
    public let pauses: [Pause]
    /// The app's jobs that are not worked through; of a deliver queue: batches that wait.
    public let waiting: Int
    /// The app's batches that are at the broker or at a worker.
    public let open: Int?
    /// The app's batches that workers have deferred.
    public let deferred: Int?
    /// How long the app's work at the head of the queue has waited, in seconds; nil = there is none.
    public let oldestSeconds: Int?
    /// The oldest of the app's work in it that is tried again; nil = there is none.
    public let delayed: Delay?
}

/// The queues, and how the broker is.
public struct QueueList: Sendable, Equatable, Codable {
    /// All queues.
    public let items: [QueueStatus]
    /// The reason that the broker does not answer or accept messages; nil = none.
    public let brokerFault: String?
}

extension PushlineClient {
    /// The queues with the app's work in them; for operators.
    ///
    /// - Throws: ``PushlineError``.
    public func queues() async throws -> QueueList {
        try await self.value(Call(method: "GET", path: ["queues"]))
    }

    /// Pauses a queue for the app until it is resumed, also over restarts; for operators.
    ///
    /// - Throws: ``PushlineError``; ``PushlineError/Code/notFound`` when there is no such queue.
    public func pause(queue name: String) async throws -> QueueStatus {
        try await self.value(Call(method: "POST", path: ["queues", name, "pause"]))
    }

    /// Resumes a queue for the app; for operators.
    ///
    /// - Throws: ``PushlineError``; ``PushlineError/Code/conflict`` while it is paused for all apps.
    public func resume(queue name: String) async throws -> QueueStatus {
        try await self.value(Call(method: "POST", path: ["queues", name, "resume"]))
    }
}
