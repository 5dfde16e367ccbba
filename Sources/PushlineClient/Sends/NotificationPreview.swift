/// What one push service would get of a notification.
public struct NotificationPreview: Sendable, Equatable, Codable {
    /// What is wrong with it.
    public struct Fault: Sendable, Equatable, Codable {
        /// The member of the notification, if it is one.
        public let member: String?
        /// What is wrong, and what to do.
        public let reason: String
    }

    /// The push service.
    public let service: PushNotification.Service
    /// The credential that the send's handles name; nil = the default one.
    public let credential: String?
    /// The headers, without credentials; nil = there is no payload.
    public let headers: [String: String]?
    /// What the service gets, without a device: JSON, or a text where it takes other bytes.
    public let payload: JSON?
    /// The bytes that the service counts.
    public let size: Int?
    /// The most bytes that the service takes.
    public let limit: Int?
    /// Why the service would refuse it, or nobody there gets it; nil = nothing is wrong.
    public let errors: [Fault]?
}

/// What all push services would get of a send.
public struct SendPreview: Sendable, Equatable, Codable {
    /// What each service would get.
    public let services: [NotificationPreview]
    /// Members of the notification that no service of the send takes; nil = none.
    public let warnings: [NotificationPreview.Fault]?
}
