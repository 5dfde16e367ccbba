import Crypto
import Foundation
import PushModel

extension SimulatedService {
    static let web = SimulatedService(
        service: .web,
        protocols: { _ in .either(streams: 100) },
        responder: { WebPushResponder(core: $0.core, browsers: SimulatedBrowsers($0.keys), key: $0.keys.vapidKey) },
        paths: ["webEndpoint": SimulatedBrowsers.path],
        answers: FaultAnswers(
            // Apple's words, and our own where it has none.
            statuses: [
                "BadWebPushRequest": 400, "BadTtl": 400, "BadUrgency": 400, "BadWebPushTopic": 400,
                "MissingAuthorizationHeader": 401, "BadAuthorizationHeader": 403, "BadJwtToken": 403,
                "VapidPkHashMismatch": 403, "BadPath": 404, "MethodNotAllowed": 405, "Unsubscribed": 410,
                "PayloadTooLarge": 413, "TooManyRequests": 429, "InternalServerError": 500, "ServiceUnavailable": 503,
            ],
            usual: [400: "BadWebPushRequest", 403: "BadJwtToken"]
        ),
        files: { credentials, _ in
            [(credentials.vapidPrivateKeyFile, credentials.keys.vapidKey.pemRepresentation)]
        },
        device: { name, credentials, urls in SimulatedBrowsers(credentials.keys).handle(of: name, at: urls.webEndpoint)
        },
        declaration: { credentials, urls in
            AppSpec.WebPush {
                $0.publicKey = Base64URL.encode(credentials.keys.vapidKey.publicKey.x963Representation)
                $0.privateKeyFile = credentials.vapidPrivateKeyFile
                $0.subject = "mailto:operator@example.com"
                $0.endpointHosts = [String(urls.web.dropFirst("https://".count))] + WebPushHosts.browsers
                $0.privateNetworks = ["127.0.0.1"]
                $0.trustFile = credentials.trustFile
            }
        }
    )
}

extension SimulatorURLs {
    /// `https://127.0.0.1:…`, the origin of every endpoint.
    package var web: String { self[.web] }
    /// How every endpoint begins; a browser's name follows.
    package var webEndpoint: String { self["webEndpoint"] }
}

extension SimulatorCounts {
    package var web: Service { self[.web] }
}

extension SimulatorCredentials {
    /// The app's private key (VAPID).
    package var vapidPrivateKeyFile: String { self.folder + "/vapid.pem" }
}
