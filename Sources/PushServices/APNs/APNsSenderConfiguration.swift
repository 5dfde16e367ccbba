import HTTP2Engine
import OutgoingHTTP
import PushModel

extension AppSpec.APNs: SenderConfiguration {
    func makeSender(_ parts: SenderParts) throws(SenderError) -> (sender: any PushSender, files: [CredentialFile]) {
        let token: APNsProviderToken?
        let certificate: ProviderCertificate?
        var files: [CredentialFile]
        switch self.authentication {
        case .token(let declared):
            let (keyFile, pem) = try CredentialFile.read(declared.keyFile, setting: "apns.key_file")
            token = try APNsProviderToken(pem: pem, keyID: declared.keyID, teamID: declared.teamID)
            certificate = nil
            files = [keyFile]
        case .certificate(let declared):
            let read = try ProviderCertificate(declared)
            try read.checkEnd()
            token = nil
            certificate = read
            files = read.files
        }
        guard !self.topic.isEmpty, self.topic.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw SenderError(.invalid, "apns.topic: the app's bundle id, without spaces")
        }
        let endpoint = try Endpoint(self.endpoint, setting: "apns.endpoint")
        let trust = try parts.trust(self.trustFile, setting: "apns.trust_file")
        if let trust { files.append(trust) }
        let metrics = SenderMetrics(pns: .apns)
        let sender = APNsSender(
            client: try parts.engine(
                endpoint,
                trust?.path,
                streams: 1000,
                identity: certificate?.identity,
                setting: "apns.trust_file",
                metrics,
                .apns
            ),
            token: token,
            authority: endpoint.authority,
            topic: self.topic,
            requestTimeout: parts.settings.requestTimeout,
            metrics: metrics
        )
        return (sender, files)
    }

    /// APNs can validate nothing: it is asked in earnest, and says that the token is bad once it has taken the credential.
    var probe: CredentialProbe? {
        CredentialProbe(
            device: Handle(stored: String(repeating: "f", count: 64)),
            isDryRun: false,
            meaning: "APNs at \(self.endpoint) takes the credential"
        )
    }

    static func advice(on reason: String, status: Int?) -> String? {
        reason.hasPrefix("the client certificate is refused")
            ? APNsAnswers.advice(on: "BadCertificate") : APNsAnswers.advice(on: reason)
    }

    var ends: [CredentialExpiry] {
        guard case .certificate(let declared) = self.authentication else { return self.trustEnds }
        // A file that cannot be read any more is reported by the code that needs it.
        return self.trustEnds + [(try? ProviderCertificate(declared))?.expiry].compactMap { $0 }
    }
}
