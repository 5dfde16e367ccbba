package import HTTP2Engine
import OutgoingHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The classification of APNs' answers.
package enum APNsAnswers {
    static let rules: [AnswerRule] = [
        // Of broadcast channels. A channel that is gone is nobody's registration.
        AnswerRule(400, "BadChannelId", .permanent),
        AnswerRule(400, "BadRequestParams", .permanent),
        AnswerRule(400, "BadRequestPayload", .permanent),
        AnswerRule(400, "ChannelNotRegistered", .permanent),
        // It says nothing of the pushes to devices, which must go on.
        AnswerRule(400, "FeatureNotEnabled", .permanent),
        AnswerRule(400, "MissingChannelId", .permanent),
        AnswerRule(400, "MissingPushType", .permanent),
        AnswerRule(403, "TopicMismatch", .stop),
        AnswerRule(400, "BadCollapseId", .permanent),
        // Or of the other environment: a burst of these is for the caller's breaker.
        AnswerRule(400, "BadDeviceToken", .drop),
        AnswerRule(400, "BadExpirationDate", .permanent),
        AnswerRule(400, "BadMessageId", .permanent),
        AnswerRule(400, "BadPriority", .permanent),
        AnswerRule(400, "BadTopic", .stop),
        AnswerRule(400, "DeviceTokenNotForTopic", .drop),
        AnswerRule(400, "DuplicateHeaders", .permanent),
        AnswerRule(400, "IdleTimeout", .connection),
        AnswerRule(400, "InvalidPushType", .permanent),
        AnswerRule(400, "MissingDeviceToken", .permanent),
        AnswerRule(400, "MissingTopic", .stop),
        AnswerRule(400, "PayloadEmpty", .permanent),
        AnswerRule(400, "TopicDisallowed", .stop),
        AnswerRule(403, "BadCertificate", .stop),
        AnswerRule(403, "BadCertificateEnvironment", .stop),
        AnswerRule(403, "ExpiredProviderToken", .credential),
        AnswerRule(403, "Forbidden", .stop),
        AnswerRule(403, "InvalidProviderToken", .credential),
        AnswerRule(403, "MissingProviderToken", .stop),
        AnswerRule(403, "UnrelatedKeyIdInToken", .connection),
        // Documented, and as seen on the wire.
        AnswerRule(403, "BadEnvironmentKeyIdInToken", .stop),
        AnswerRule(403, "BadEnvironmentKeyInToken", .stop),
        AnswerRule(403, nil, .stop),
        AnswerRule(404, "BadPath", .permanent),
        AnswerRule(405, "MethodNotAllowed", .permanent),
        AnswerRule(410, "Unregistered", .drop),
        AnswerRule(410, "ExpiredToken", .drop),
        AnswerRule(410, nil, .drop),
        AnswerRule(413, "PayloadTooLarge", .permanent),
        // Of this connection alone: the token in use stays good, and is kept.
        AnswerRule(429, "TooManyProviderTokenUpdates", .connection),
        AnswerRule(429, "TooManyRequests", .waitDevice),
        AnswerRule(429, nil, .waitDevice),
        AnswerRule(500, "InternalServerError", .wait),
        AnswerRule(503, "ServiceUnavailable", .wait),
        // As the page about broadcasts spells it.
        AnswerRule(503, "Service Unavailable", .wait),
        AnswerRule(503, "Shutdown", .connection),
    ]

    private static let table = AnswerTable(rules)

    /// Whether a new provider token may help.
    static func wantsToken(status: Int, reason: String?) -> Bool {
        Self.table.answer(status: status, reason: reason) == .credential
    }

    /// What an operator should look at, by the word with which APNs refuses the app's credentials, or a device that somebody knows to be there.
    package static func advice(on word: String) -> String? {
        switch word {
        case "TopicDisallowed", "BadTopic", "MissingTopic", "TopicMismatch":
            "the key's team, or the certificate, may not send to this topic: check topic, team_id and key_id in the app's declaration"
        case "BadEnvironmentKeyInToken", "BadEnvironmentKeyIdInToken", "BadCertificateEnvironment":
            "the key or certificate is for the other environment: check endpoint (sandbox or not), or make one for both at Apple"
        case "InvalidProviderToken":
            "key_id, team_id and key_file do not belong together, or the key is revoked at Apple: check all three"
        case "ExpiredProviderToken": "the clock of the worker's host is wrong: set it"
        case "BadCertificate":
            "the certificate is not for push, has expired or is revoked: replace certificate_file"
        case "Forbidden":
            "Apple refuses the key or the certificate: look in the developer account whether it is revoked"
        case "BadDeviceToken":
            "the token is not whole, or of the other environment: apps that Xcode runs have tokens of https://api.sandbox.push.apple.com, "
                + "those of TestFlight and the App Store of https://api.push.apple.com; compare endpoint"
        case "DeviceTokenNotForTopic":
            "the token is another app's than topic says: compare topic with the app's bundle id"
        case "Unregistered", "ExpiredToken":
            "the app was removed from the device, or its token replaced: open the app, and take its new token"
        case "FeatureNotEnabled":
            "turn the capability Broadcast on for the bundle id in Apple's developer account (Push Notifications, Configure)"
        case "ChannelNotRegistered", "BadChannelId":
            "the bundle id has no such channel in this environment: pushline channels list shows those that it has"
        case "CannotCreateChannelConfig":
            "the bundle id has as many channels as Apple allows (10,000): delete those that are no longer used"
        default: nil
        }
    }

    /// The headers of an answer that matter.
    static let interestingHeaders = ["retry-after", "date"]

    private struct Body: Decodable {
        let reason: String?
        /// Milliseconds since the epoch.
        let timestamp: Int64?
    }

    package static func answer(_ response: HTTP2Response) -> Answer {
        guard response.status != 200 else { return Answer(.accepted, status: 200, reason: "") }
        // Without a JSON body the status decides.
        let body = try? JSONDecoder().decode(Body.self, from: Data(response.body))
        let reason = body?.reason.map(ForeignText.word)
        return Answer(
            self.table.answer(status: response.status, reason: reason),
            status: response.status,
            reason: reason ?? "status \(response.status)",
            retryAfter: RetryAfter.wait { response[$0.lowercased()] },
            deadSince: response.status == 410 ? body?.timestamp : nil
        )
    }
}
