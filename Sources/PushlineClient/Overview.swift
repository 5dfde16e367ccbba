public import Foundation

/// How an app is at the moment.
public struct Overview: Sendable, Equatable, Codable {
    /// The newest sends that have not come to their end.
    public struct Sends: Sendable, Equatable, Codable {
        /// The sends.
        public let items: [Job]
        /// Whether these are all.
        public let isComplete: Bool
    }

    /// The app's dead letters.
    public struct Dead: Sendable, Equatable, Codable {
        /// How many there are, at least.
        public let count: Int
        /// Whether there are no more.
        public let isComplete: Bool
    }

    /// The sends of the last day that did not get to their devices.
    public struct Ended: Sendable, Equatable, Codable {
        /// How many expired: their time was over before all devices had their turn.
        public let expired: Int
        /// How many were abandoned: nobody got them.
        public let abandoned: Int
        /// Since when they are counted.
        public let since: Date
    }

    /// The files of the store, in bytes.
    public struct Space: Sendable, Equatable, Codable {
        /// The store's file.
        public let store: Int
        /// What was written and not yet moved into it.
        public let log: Int
        /// What is free beside it.
        public let free: Int
    }

    /// The processes of the installation, as they report themselves by way of the broker.
    public struct Processes: Sendable, Equatable, Codable {
        /// By role, host and number; one that is gone is listed for half a minute.
        public let items: [ServerProcess]
        /// Whether these are all: not while the broker is away, nor just after it came back or the server was started.
        public let isComplete: Bool
    }

    /// When it was so.
    public let at: Date
    /// The server's version.
    public let version: String
    /// The sends.
    public let sends: Sends
    /// Their devices a second, by service.
    public let rate: [String: Double]
    /// The queues.
    public let queues: [QueueStatus]
    /// How the connection to the broker is: `connected`, `blocked` or `disconnected`.
    public let broker: String
    /// The reason that the broker does not answer or accept messages; nil = none.
    public let brokerFault: String?
    /// The processes, of all hosts.
    public let processes: Processes
    /// The dead letters.
    public let dead: Dead
    /// The sends that ended badly.
    public let ended: Ended
    /// The store's room; nil where it is no file of the server's host.
    public let space: Space?
    /// When the store was backed up last; nil = never, or by other means.
    public let backup: Date?
}

extension PushlineClient {
    /// How the app is at the moment, at most a second old; for operators.
    ///
    /// - Throws: ``PushlineError``.
    public func overview() async throws -> Overview { try await self.value(Call(method: "GET", path: ["overview"])) }
}
