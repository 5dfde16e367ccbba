import HTTP2Engine
import PushModel

extension AppSpec.APNs: SenderConfiguration {
    func makeSender(_ parts: SenderParts) throws(SenderError) -> (sender: any PushSender, files: [CredentialFile]) {
        let (keyFile, pem) = try CredentialFile.read(self.keyFile, setting: "apns.key_file")
        let token = try APNsProviderToken(pem: pem, keyID: self.keyID, teamID: self.teamID)
        guard !self.topic.isEmpty, self.topic.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw SenderError(.invalid, "apns.topic: the app's bundle id, without spaces")
        }
        let endpoint = try Endpoint(self.endpoint, setting: "apns.endpoint")
        let trust = try parts.trust(self.trustFile, setting: "apns.trust_file")
        let metrics = SenderMetrics(pns: .apns)
        let sender = APNsSender(
            client: try parts.engine(endpoint, trust?.path, streams: 1000, setting: "apns.trust_file", metrics),
            token: token,
            authority: endpoint.authority,
            topic: self.topic,
            requestTimeout: parts.settings.requestTimeout,
            metrics: metrics
        )
        return (sender, [keyFile] + [trust].compactMap { $0 })
    }

    var ends: [CredentialExpiry] { self.trustEnds }
}
