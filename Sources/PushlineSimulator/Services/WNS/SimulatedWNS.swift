import PushModel

extension SimulatedService {
    static let wns = SimulatedService(
        service: .wns,
        protocols: { _ in .http1 },
        responder: { WNSResponder(core: $0.core, tokenEndpoint: TokenEndpoint($0)) },
        paths: [
            "wnsChannel": "/wns/",
            "wnsToken": "/simulator/oauth2/v2.0/token",
            "wnsStoreToken": "/accesstoken.srf",
        ],
        answers: FaultAnswers(
            // Our own names: its answers have only a status and a description.
            statuses: [
                "dropped": 200, "channelthrottled": 200, "BadRequest": 400, "Unauthorized": 401, "Forbidden": 403,
                "NotFound": 404, "MethodNotAllowed": 405, "NotAcceptable": 406, "Gone": 410, "DomainBlocked": 410,
                "PreconditionFailed": 412, "PayloadTooLarge": 413, "InternalServerError": 500,
                "ServiceUnavailable": 503,
            ],
            usual: [200: "dropped", 410: "Gone"]
        ),
        files: { credentials, _ in [(credentials.wnsClientSecretFile, credentials.wnsClientSecret)] },
        device: { name, _, urls in urls.wnsChannel + name },
        declaration: { credentials, urls in
            AppSpec.WNS {
                $0.clientID = credentials.wnsClientID
                $0.clientSecretFile = credentials.wnsClientSecretFile
                $0.tokenURL = urls.wnsToken
                $0.channelPrefixes = [urls.wnsChannel]
                $0.trustFile = credentials.trustFile
            }
        }
    )
}

extension SimulatorURLs {
    /// `https://127.0.0.1:…`, WNS' own address.
    package var wns: String { self[.wns] }
    /// How every channel URI begins; anything may follow.
    package var wnsChannel: String { self["wnsChannel"] }
    /// WNS' token endpoint of the newer generation (Entra ID).
    package var wnsToken: String { self["wnsToken"] }
    /// WNS' token endpoint of the older generation (Store).
    package var wnsStoreToken: String { self["wnsStoreToken"] }
}

extension SimulatorCounts {
    package var wns: Service { self[.wns] }
}

extension SimulatorCredentials {
    static let wnsStoreScope = "notify.windows.com"

    /// The client id of the newer generation of tokens.
    package var wnsClientID: String { "11111111-2222-3333-4444-555555555555" }
    /// The package SID, the client id of the older generation.
    package var wnsPackageSID: String { "ms-app://s-1-15-2-1111111111-2222222222-3333333333" }
    package var wnsClientSecretFile: String { self.folder + "/wns-client-secret" }
    package var wnsClientSecret: String { "simulated+secret/=%&" + String(self.trustPEM.utf8.count) }
    package var wnsScope: String { AppSpec.WNS().scope }
}
