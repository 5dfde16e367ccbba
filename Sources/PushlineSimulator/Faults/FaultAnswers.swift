import Foundation

/// The reasons that each service has, and the answers that carry them.
enum FaultAnswers {
    /// APNs' reasons with their statuses (contract, 1.8).
    static let apns: [String: Int] = [
        "BadCollapseId": 400, "BadDeviceToken": 400, "BadExpirationDate": 400, "BadMessageId": 400,
        "BadPriority": 400, "BadTopic": 400, "DeviceTokenNotForTopic": 400, "DuplicateHeaders": 400,
        "IdleTimeout": 400, "InvalidPushType": 400, "MissingDeviceToken": 400, "MissingTopic": 400,
        "PayloadEmpty": 400, "TopicDisallowed": 400, "BadCertificate": 403, "BadCertificateEnvironment": 403,
        "ExpiredProviderToken": 403, "Forbidden": 403, "InvalidProviderToken": 403, "MissingProviderToken": 403,
        "UnrelatedKeyIdInToken": 403, "BadEnvironmentKeyIdInToken": 403, "BadEnvironmentKeyInToken": 403,
        "BadPath": 404, "MethodNotAllowed": 405, "Unregistered": 410, "ExpiredToken": 410,
        "PayloadTooLarge": 413, "TooManyProviderTokenUpdates": 429, "TooManyRequests": 429,
        "InternalServerError": 500, "ServiceUnavailable": 503, "Shutdown": 503,
    ]

    /// FCM's error codes, and bare `google.rpc` ones, with their statuses (contract, 2.4).
    static let fcm: [String: Int] = [
        "INVALID_ARGUMENT": 400, "UNAUTHENTICATED": 401, "THIRD_PARTY_AUTH_ERROR": 401, "APNS_AUTH_ERROR": 401,
        "PERMISSION_DENIED": 403, "SENDER_ID_MISMATCH": 403, "UNREGISTERED": 404, "NOT_FOUND": 404,
        "QUOTA_EXCEEDED": 429, "INTERNAL": 500, "BAD_GATEWAY": 502, "UNAVAILABLE": 503, "GATEWAY_TIMEOUT": 504,
    ]

    /// Our names for WNS' answers, which have only a status and a description (contract, 3.4 and 3.5).
    static let wns: [String: Int] = [
        "dropped": 200, "channelthrottled": 200, "BadRequest": 400, "Unauthorized": 401, "Forbidden": 403,
        "NotFound": 404, "MethodNotAllowed": 405, "NotAcceptable": 406, "Gone": 410, "DomainBlocked": 410,
        "PreconditionFailed": 412, "PayloadTooLarge": 413, "InternalServerError": 500, "ServiceUnavailable": 503,
    ]

    /// What a status without a reason means, where several share it.
    private static let usual: [SimulatedService: [Int: String]] = [
        .apns: [
            400: "BadDeviceToken", 403: "InvalidProviderToken", 410: "Unregistered", 429: "TooManyRequests",
            503: "ServiceUnavailable",
        ],
        .fcm: [401: "UNAUTHENTICATED", 403: "SENDER_ID_MISMATCH", 404: "UNREGISTERED"],
        .wns: [200: "dropped", 410: "Gone"],
    ]

    private static func table(of pns: SimulatedService) -> [String: Int] {
        switch pns {
        case .apns: Self.apns
        case .fcm: Self.fcm
        case .wns: Self.wns
        }
    }

    static func status(of reason: String, for pns: SimulatedService) -> Int? {
        self.table(of: pns)[reason]
    }

    static func reason(of status: Int, for pns: SimulatedService) -> String {
        if let usual = self.usual[pns]?[status] { return usual }
        return self.table(of: pns).first { $0.value == status }?.key ?? "Status\(status)"
    }

    /// The seconds or the date of a `Retry-After`.
    static func text(of retryAfter: SimulatorFault.RetryAfter) -> String {
        switch retryAfter {
        case .seconds(let seconds):
            return String(seconds)
        case .date(let seconds):
            let format = DateFormatter()
            format.locale = Locale(identifier: "en_US_POSIX")
            format.timeZone = TimeZone(secondsFromGMT: 0)
            format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
            return format.string(from: Date.now.addingTimeInterval(Double(seconds)))
        }
    }
}
