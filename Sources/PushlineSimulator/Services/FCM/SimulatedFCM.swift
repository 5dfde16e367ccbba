import CryptoExtras
import Foundation
import PushModel

extension SimulatedService {
    static let fcm = SimulatedService(
        service: .fcm,
        protocols: { .either(streams: $0.fcmStreams) },
        responder: {
            FCMResponder(core: $0.core, tokenEndpoint: TokenEndpoint($0), project: $0.credentials.fcmProject)
        },
        paths: ["fcmToken": "/token"],
        answers: FaultAnswers(
            // Error codes, and bare `google.rpc` ones.
            statuses: [
                "INVALID_ARGUMENT": 400, "UNAUTHENTICATED": 401, "THIRD_PARTY_AUTH_ERROR": 401,
                "APNS_AUTH_ERROR": 401, "PERMISSION_DENIED": 403, "SENDER_ID_MISMATCH": 403, "UNREGISTERED": 404,
                "NOT_FOUND": 404, "QUOTA_EXCEEDED": 429, "INTERNAL": 500, "BAD_GATEWAY": 502, "UNAVAILABLE": 503,
                "GATEWAY_TIMEOUT": 504,
            ],
            usual: [401: "UNAUTHENTICATED", 403: "SENDER_ID_MISMATCH", 404: "UNREGISTERED"]
        ),
        files: { [($0.fcmServiceAccountFile, try $0.serviceAccount(urls: $1))] },
        device: { name, _, _ in "device:\(name)" },
        declaration: { credentials, urls in
            AppSpec.FCM {
                $0.serviceAccountFile = credentials.fcmServiceAccountFile
                $0.endpoint = urls.fcm
                $0.trustFile = credentials.trustFile
            }
        }
    )
}

extension SimulatorURLs {
    /// `https://127.0.0.1:…`, for `POST /v1/projects/<project>/messages:send`.
    package var fcm: String { self[.fcm] }
    /// FCM's token endpoint, the `token_uri` of the service account.
    package var fcmToken: String { self["fcmToken"] }
}

extension SimulatorCounts {
    package var fcm: Service { self[.fcm] }
}

extension SimulatorCredentials {
    /// The service account's JSON.
    package var fcmServiceAccountFile: String { self.folder + "/service-account.json" }
    package var fcmProject: String { "pushline-simulator" }
    package var fcmClientEmail: String { "sender@pushline-simulator.iam.gserviceaccount.com" }
    package var fcmPrivateKeyID: String { "0123456789abcdef0123456789abcdef01234567" }
    package var fcmPrivateKeyPEM: String { self.keys.serviceAccountKey.pkcs8PEMRepresentation }

    fileprivate func serviceAccount(urls: SimulatorURLs) throws -> String {
        let members = [
            "type": "service_account",
            "project_id": self.fcmProject,
            "private_key_id": self.fcmPrivateKeyID,
            "private_key": self.fcmPrivateKeyPEM,
            "client_email": self.fcmClientEmail,
            "client_id": "100000000000000000001",
            "token_uri": urls.fcmToken,
        ]
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(members), as: UTF8.self)
    }
}
