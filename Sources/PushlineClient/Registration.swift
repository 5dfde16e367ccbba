public import Foundation

/// A device as an app registers it.
public struct Device: Sendable, Equatable, Codable {
    /// The device's push service.
    public var service: PushNotification.Service
    /// The address that the service gave: an APNs token in hexadecimal, an FCM token, a WNS channel URI, a browser's subscription in base64url.
    public var handle: String
    /// With which of the credentials that the server has for your app it is reached, such as that of your watch app; nil = the
    /// default one.
    public var credential: String?
    /// The device's tags, besides that of its user.
    public var tags: [String]

    /// A device at its push service.
    public init(service: PushNotification.Service, handle: String, credential: String? = nil, tags: [String] = []) {
        self.service = service
        self.handle = handle
        self.credential = credential
        self.tags = tags
    }
}

/// A registration as the server lists it.
public struct Registration: Sendable, Equatable, Codable, Identifiable {
    /// How a registration ended.
    public struct Ended: Sendable, Equatable, Codable {
        /// When.
        public let at: Date
        /// Why, such as the push service's word.
        public let reason: String
    }

    /// The id that the app keeps.
    public let id: String
    /// The device's user.
    public let user: String?
    /// The push service.
    public let service: PushNotification.Service?
    /// The address, shortened.
    public let handle: String?
    /// With which of the app's credentials it is reached; nil = the default one.
    public let credential: String?
    /// All tags, the user's own included.
    public let tags: [String]
    /// `live`, `pruned`, `expired`, `replaced` or `deleted`.
    public let state: String
    /// When it was last registered.
    public let updated: Date
    /// When it ends unless it is registered again.
    public let expires: Date?
    /// How it ended, where it did.
    public let ended: Ended?
}

/// Someone who signs in with name and password.
public struct Account: Sendable, Equatable, Codable {
    /// The name to sign in with.
    public let name: String
    /// `user`, `sender` or `operator`.
    public let role: String
    /// Whether signing in is refused.
    public let disabled: Bool
    /// When it was made.
    public let created: Date
}

/// A backend's key.
public struct Key: Sendable, Equatable, Codable {
    /// Names it in lists and jobs.
    public let name: String
    /// `sender` or `operator`.
    public let role: String
    /// When it was made.
    public let created: Date
    /// When it was revoked, if it was.
    public let revoked: Date?
    /// The key's secret; only in the answer that creates the key.
    public let secret: String?
}
