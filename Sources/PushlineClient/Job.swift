public import Foundation

/// A piece of accepted work and its outcome.
public struct Job: Sendable, Equatable, Codable, Identifiable {
    /// Counts of devices.
    public struct Counts: Sendable, Equatable, Codable {
        /// Devices that the job is for.
        public let targets: Int
        /// Accepted by the push service.
        public let accepted: Int
        /// Failed for good, by class, such as `unregistered`.
        public let failed: [String: Int]
        /// Not sent: the job's time was over.
        public let expired: Int
        /// Not sent: the job was stopped.
        public let cancelled: Int
        /// Not yet known.
        public let open: Int
    }

    /// The result of a change to a registration, or of a request about broadcast channels.
    public struct Result: Sendable, Equatable, Codable {
        /// `issued`, `done`, `superseded`, `gone`, `not-found` or `refused`.
        public let status: String
        /// The id that was handed out.
        public let registration: String?
        /// The broadcast channel that was made or shown.
        public let channel: BroadcastChannel?
        /// Why it was refused.
        public let reason: String?
    }

    /// Of a send to a list of devices, or to all.
    public struct Recipients: Sendable, Equatable, Codable {
        /// `handles`, `registrations` or `all`.
        public let kind: String
        /// How many devices the list named.
        public let given: Int?
        /// How many of them it is for: each once, and only registrations that were there.
        public let count: Int?
    }

    /// Of a send of an app whose hub is behind a wire: the calls of that hub.
    public struct Hub: Sendable, Equatable, Codable {
        /// `azure`.
        public let kind: String
        /// What is known of the devices, in words; nil = the hub has taken no call yet.
        public let note: String?
        /// The first 100.
        public let calls: [Call]
        /// Whether there are more.
        public let more: Bool?

        /// A call: the send for one push service, or for one device.
        public struct Call: Sendable, Equatable, Codable {
            /// The push service.
            public let service: PushNotification.Service
            /// Its place among the job's calls, from 1.
            public let place: Int?
            /// `submitting`, `waiting`, `taken`, `refused`, or `unknown` where nobody knows whether the hub took it.
            public let state: String
            /// The hub's id for it, where its tier gives one.
            public let notification: String?
            /// Whether the hub says what became of it.
            ///
            /// `pending`: it is asked again. `complete`: it has said its last word. `not-offered`: its tier has no telemetry. `ended`: it is
            /// asked no more. `together`: the first handle of the call has what it says.
            public let telemetry: String?
            /// What the hub says became of it, such as `Completed`, where its tier tells.
            public let outcome: String?
            /// The devices, by the hub's word for what became of them.
            public let devices: [String: Int]?
        }
    }

    /// A UUID.
    public let id: String
    /// The app's name.
    public let app: String
    /// `send` or `register`.
    public let kind: String
    /// `scheduled`, `queued`, `running`, `retrying`, `cancelling`, `expiring`; final are `completed`, `abandoned`, `cancelled`
    /// and `expired`.
    public let state: String
    /// Nothing changes any more.
    public let isFinal: Bool
    /// The reason that it was abandoned or waits.
    public let reason: String?
    /// The account that asked.
    public let user: String?
    /// The name of the key that asked.
    public let key: String?
    /// The sender's own name for it.
    public let label: String?
    /// `high`, `normal` or `low`.
    public let priority: String
    /// When it was accepted.
    public let accepted: Date
    /// When work on it began.
    public let started: Date?
    /// When it became final.
    public let finished: Date?
    /// After this nothing is sent any more.
    public let expires: Date
    /// When it was asked to start.
    public let at: Date?
    /// When the next try is due, or a scheduled send starts.
    public let due: Date?
    /// True of a send whose devices are counted and get nothing.
    public let dryRun: Bool?
    /// Members of the send that none of its services takes, in the answer to the send alone; nil = none.
    public let warnings: [NotificationPreview.Fault]?
    /// The tags of which one is enough, where a send is for such; of many the first 100.
    public let to: [String]?
    /// How many tags those are, where not all are in ``to``.
    public let toCount: Int?
    /// The tag expression that another send is for; a long one is cut.
    public let expression: String?
    /// The list of devices that another send is for.
    public let recipients: Recipients?
    /// The services that a send was limited to.
    public let services: [PushNotification.Service]?
    /// A send's counts by service.
    public let counts: [String: Counts]?
    /// A send's counts over all services.
    public let totals: Counts?
    /// The share of a send's targets with an outcome, 0 to 1.
    public let progress: Double?
    /// Devices of a send that is running or was stopped that are in batches so far.
    public let fannedOut: Int?
    /// How many devices a running send will have, or one that was stopped would have had; a guess until all are in batches.
    public let estimate: Int?
    /// A running send's devices a second.
    public let rate: Double?
    /// How long the slowest service of a running send will take at its own rate, in seconds.
    public let secondsLeft: Int?
    /// The result of a register job.
    public let result: Result?
    /// The calls of a hub over a wire.
    public let hub: Hub?
}

/// The outcome for one device of a send.
public struct Delivery: Sendable, Equatable, Codable {
    /// The push service.
    public let service: PushNotification.Service
    /// The registration's id, while the server still has it.
    public let registration: String?
    /// The device's user.
    public let user: String?
    /// Of a send to handles: the device's place in the list, from 1.
    public let place: Int?
    /// The sender's own name for the device.
    public let reference: String?
    /// `accepted`, or the class of failure, such as `unregistered`.
    public let outcome: String
    /// The push service's status, where it answered.
    public let status: Int?
    /// The push service's own word.
    public let reason: String?
    /// When it was recorded.
    public let at: Date
    /// The id that the notification carries.
    public let notification: String
}

/// A piece of a list.
public struct Page<Item: Sendable & Codable>: Sendable, Codable {
    /// The items, in the list's order.
    public let items: [Item]
    /// Give this to get the next piece; nil at the end.
    public let cursor: String?
}
