/// Notifications in the push services' own words, each in place of the message for its service.
public struct NativePayloads: Sendable, Equatable, Codable {
    /// A form for APNs.
    public struct APNs: Sendable, Equatable, Codable {
        /// The JSON body.
        public var payload: JSON
        /// `apns-push-type`, `apns-priority`, `apns-expiration` and `apns-collapse-id`.
        public var headers: [String: String]?

        /// Creates a form; its push type is `alert` unless a header says another.
        public init(payload: JSON, headers: [String: String]? = nil) {
            self.payload = payload
            self.headers = headers
        }
    }

    /// A form for FCM.
    public struct FCM: Sendable, Equatable, Codable {
        /// A message of the HTTP v1 API, without its target.
        public var message: JSON

        /// Creates a form.
        public init(message: JSON) { self.message = message }
    }

    /// A form for WNS.
    public struct WNS: Sendable, Equatable, Codable {
        /// The XML of a toast, tile or badge, or the text of a raw notification.
        public var body: String
        /// `X-WNS-Type` and other headers of WNS.
        public var headers: [String: String]?

        /// Creates a form; it is a toast unless `X-WNS-Type` says another.
        public init(body: String, headers: [String: String]? = nil) {
            self.body = body
            self.headers = headers
        }
    }

    /// For APNs.
    public var apns: APNs?
    /// For FCM.
    public var fcm: FCM?
    /// For WNS.
    public var wns: WNS?

    /// Creates the forms of a notification; one is required.
    public init(apns: APNs? = nil, fcm: FCM? = nil, wns: WNS? = nil) {
        self.apns = apns
        self.fcm = fcm
        self.wns = wns
    }
}
