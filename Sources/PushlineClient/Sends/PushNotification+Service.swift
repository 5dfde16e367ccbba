extension PushNotification {
    /// A push notification service, by the name that the API has for it.
    public struct Service: RawRepresentable, CaseIterable, Hashable, Sendable, Codable, CodingKeyRepresentable,
        CustomStringConvertible
    {
        /// The name.
        public let rawValue: String

        /// A service by name; the server refuses one that it does not know.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Apple Push Notification service.
        public static let apns = Service(rawValue: "apns")
        /// Firebase Cloud Messaging.
        public static let fcm = Service(rawValue: "fcm")
        /// Windows Push Notification Services.
        public static let wns = Service(rawValue: "wns")
        /// Microsoft's retired service: devices can be registered, but not sent to.
        public static let mpns = Service(rawValue: "mpns")
        /// Web Push: browsers.
        public static let web = Service(rawValue: "web")

        /// The services known to this version; the server may know others.
        public static let allCases: [Service] = [.apns, .fcm, .wns, .mpns, .web]

        /// The name.
        public var description: String { self.rawValue }
    }
}
