import PushModel

extension AppSpec.WNS: SenderConfiguration {
    func makeSender(_ parts: SenderParts) throws(SenderError) -> (sender: any PushSender, files: [CredentialFile]) {
        let (file, content) = try CredentialFile.read(self.clientSecretFile, setting: "wns.client_secret_file")
        // Editors end a file with a line break; no secret has one.
        let secret = String(decoding: content, as: UTF8.self).filter { !$0.isNewline }
        guard !secret.isEmpty, !self.clientID.isEmpty else {
            throw SenderError(.invalid, "wns: client_id and the secret in \(self.clientSecretFile) must not be empty")
        }
        guard self.tokenURL.hasPrefix("https://") else {
            throw SenderError(.invalid, "wns.token_url: not an https address")
        }
        let trust = try parts.trust(self.trustFile, setting: "wns.trust_file")
        let sender = WNSSender(
            spec: self,
            secret: secret,
            client: parts.httpClient(trust?.path),
            parts: parts,
            metrics: SenderMetrics(pns: .wns)
        )
        return (sender, [file] + [trust].compactMap { $0 })
    }

    var probe: CredentialProbe? {
        let start = self.channelPrefixes.first ?? "https://db5p.notify.windows.com/"
        return CredentialProbe(
            device: Handle(stored: start + "?token=pushline-doctor"),
            isDryRun: true,
            meaning: "\(self.tokenService) gives a token for client_id and its secret; "
                + "only a real channel shows more (--device)"
        )
    }

    /// Who answers at the token address: whoever tries a simulator is not told that Microsoft did.
    private var tokenService: String {
        self.tokenURL.hasPrefix("https://login.microsoftonline.com/")
            ? "Microsoft" : "\(self.tokenURL), in place of Microsoft,"
    }

    static func advice(on reason: String, status: Int?) -> String? { WNSAnswers.advice(on: reason, status: status) }

    var ends: [CredentialExpiry] {
        self.trustEnds
            + [self.secretEnds.map { CredentialExpiry(setting: "wns.client_secret_file", end: $0) }].compactMap { $0 }
    }
}
