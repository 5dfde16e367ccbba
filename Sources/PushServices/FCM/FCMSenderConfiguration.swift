import OutgoingHTTP
import PushModel

extension AppSpec.FCM: SenderConfiguration {
    func makeSender(_ parts: SenderParts) throws(SenderError) -> (sender: any PushSender, files: [CredentialFile]) {
        let (file, json) = try CredentialFile.read(self.serviceAccountFile, setting: "fcm.service_account_file")
        let account = try ServiceAccount(json: json)
        let endpoint = try Endpoint(self.endpoint, setting: "fcm.endpoint")
        let trust = try parts.trust(self.trustFile, setting: "fcm.trust_file")
        let metrics = SenderMetrics(pns: .fcm)
        let sender = FCMSender(
            client: try parts.engine(
                endpoint,
                trust?.path,
                streams: FCMSender.maximumStreams,
                setting: "fcm.trust_file",
                metrics,
                .fcm
            ),
            tokenClient: parts.httpClient(trust?.path),
            account: account,
            authority: endpoint.authority,
            requestTimeout: parts.settings.requestTimeout,
            tokenPeer: parts.peer(.token),
            metrics: metrics
        )
        return (sender, [file] + [trust].compactMap { $0 })
    }

    var probe: CredentialProbe? {
        CredentialProbe(
            device: Handle(stored: "pushline-doctor"),
            isDryRun: true,
            meaning: self.endpoint == Self.init().endpoint
                ? "Google gives a token for the service account, and FCM takes messages for its project"
                : "the token service of the service account gives a token, and \(self.endpoint) takes messages in place of FCM"
        )
    }

    static func advice(on reason: String, status: Int?) -> String? { FCMAnswers.advice(on: reason, status: status) }

    var ends: [CredentialExpiry] { self.trustEnds }
}
