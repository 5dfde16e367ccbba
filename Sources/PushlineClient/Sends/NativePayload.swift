/// A notification in a push service's own words, in place of the message for that service.
///
/// The API's description has the members that each service takes.
public struct NativePayload: Sendable, Equatable, Codable {
    /// Its members by their names.
    public var members: [String: JSON]

    /// Creates a payload of any members.
    public init(members: [String: JSON]) { self.members = members }

    /// Creates a payload for APNs or Web Push.
    ///
    /// - Parameters:
    ///   - payload: The JSON body, or what a page's service worker gets.
    ///   - headers: `apns-push-type`, `apns-priority`, `apns-expiration` and `apns-collapse-id`; without a push type it is
    ///     `alert` or `background`, as the body says. For Web Push `TTL`, `Urgency` and `Topic`.
    public init(payload: JSON, headers: [String: String]? = nil) {
        self.init(members: ["payload": payload], headers: headers)
    }

    /// Creates a payload for FCM.
    ///
    /// - Parameter message: A message of the HTTP v1 API, without its target.
    public init(message: JSON) { self.init(members: ["message": message]) }

    /// Creates a payload for WNS.
    ///
    /// - Parameters:
    ///   - body: The XML of a toast, tile or badge, or the text of a raw notification.
    ///   - headers: `X-WNS-Type` and other headers of WNS; without a type it is a toast.
    public init(body: String, headers: [String: String]? = nil) {
        self.init(members: ["body": .string(body)], headers: headers)
    }

    private init(members: [String: JSON], headers: [String: String]?) {
        self.members = members
        self.members["headers"] = headers.map { JSON.object($0.mapValues(JSON.string)) }
    }

    /// Reads an object.
    public init(from decoder: any Decoder) throws {
        self.members = try decoder.singleValueContainer().decode([String: JSON].self)
    }

    /// Writes its members.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.members)
    }
}
