import Crypto
import PushModel

extension SimulatedService {
    static let apns = SimulatedService(
        service: .apns,
        protocols: { .http2(streams: $0.apnsInitialStreams, certified: $0.apnsStreams) },
        responder: { APNsResponder(core: $0.core, rules: APNsRules($0)) },
        otherPorts: ["apnsChannels": { APNsResponder(core: $0.core, rules: APNsRules($0), managesChannels: true) }],
        answers: FaultAnswers(
            statuses: [
                "BadCollapseId": 400, "BadDeviceToken": 400, "BadExpirationDate": 400, "BadMessageId": 400,
                "BadPriority": 400, "BadTopic": 400, "DeviceTokenNotForTopic": 400, "DuplicateHeaders": 400,
                "IdleTimeout": 400, "InvalidPushType": 400, "MissingDeviceToken": 400, "MissingTopic": 400,
                "PayloadEmpty": 400, "TopicDisallowed": 400, "FeatureNotEnabled": 400, "MissingChannelId": 400,
                "BadChannelId": 400, "ChannelNotRegistered": 400, "BadRequestParams": 400, "BadRequestPayload": 400,
                "MissingPushType": 400, "CannotCreateChannelConfig": 400, "TopicMismatch": 403, "BadCertificate": 403,
                "BadCertificateEnvironment": 403,
                "ExpiredProviderToken": 403, "Forbidden": 403, "InvalidProviderToken": 403,
                "MissingProviderToken": 403, "UnrelatedKeyIdInToken": 403, "BadEnvironmentKeyIdInToken": 403,
                "BadEnvironmentKeyInToken": 403, "BadPath": 404, "MethodNotAllowed": 405, "Unregistered": 410,
                "ExpiredToken": 410, "PayloadTooLarge": 413, "TooManyProviderTokenUpdates": 429,
                "TooManyRequests": 429, "InternalServerError": 500, "ServiceUnavailable": 503, "Shutdown": 503,
            ],
            usual: [
                400: "BadDeviceToken", 403: "InvalidProviderToken", 410: "Unregistered", 429: "TooManyRequests",
                503: "ServiceUnavailable",
            ]
        ),
        files: { credentials, _ in
            let (certificate, privateKey) = try credentials.issue()
            return [
                (credentials.apnsKeyFile, credentials.apnsKeyPEM),
                (credentials.apnsCertificateFile, certificate + "\n" + privateKey),
            ]
        },
        device: { name, _, _ in
            let digits = name.utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            return String(repeating: "0", count: max(0, 64 - digits.utf8.count)) + digits
        },
        declaration: { credentials, urls in
            AppSpec.APNs {
                $0.authentication = .token(
                    .init(
                        keyFile: credentials.apnsKeyFile,
                        keyID: credentials.apnsKeyID,
                        teamID: credentials.apnsTeamID
                    )
                )
                $0.topic = credentials.apnsTopic
                $0.endpoint = urls.apns
                $0.channelsEndpoint = urls.apnsChannels
                $0.trustFile = credentials.trustFile
            }
        }
    )
}

extension APNsRules {
    fileprivate init(_ parts: ResponderParts) {
        let configuration = parts.core.configuration
        self.init(
            bundleIDs: configuration.bundleIDs,
            keyID: parts.credentials.apnsKeyID,
            teamID: parts.credentials.apnsTeamID,
            publicKey: parts.keys.apnsKey.publicKey,
            tokenUpdates: configuration.providerTokenUpdates,
            tokenWindow: configuration.providerTokenWindow,
            isSandbox: configuration.sandbox
        )
    }
}

extension SimulatorURLs {
    /// `https://127.0.0.1:…`, for `POST /3/device/<token>` and `/4/broadcasts/apps/<bundle id>`.
    package var apns: String { self[.apns] }
    /// In place of Apple's hosts for channels: `/1/apps/<bundle id>/channels` and `all-channels`.
    package var apnsChannels: String { self["apnsChannels"] }
}

extension SimulatorCounts {
    package var apns: Service { self[.apns] }
}

extension SimulatorCredentials {
    /// The `.p8` file of the APNs key: P-256, PKCS#8 PEM.
    package var apnsKeyFile: String { self.folder + "/AuthKey_\(self.apnsKeyID).p8" }
    package var apnsKeyPEM: String { self.keys.apnsKey.pemRepresentation }
    package var apnsKeyID: String { "SIMKEY0001" }
    package var apnsTeamID: String { "SIMTEAM001" }
    /// The bundle id, which is the topic of an alert.
    package var apnsTopic: String { self.topic }
}
