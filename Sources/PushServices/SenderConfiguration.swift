import PushModel

/// What a sender is made from: the part of an app's declaration that concerns one push service.
///
/// Each service's folder makes that of its own credentials.
protocol SenderConfiguration: ServiceCredentials {
    /// Certificates to trust instead of the system's, PEM; for simulators.
    var trustFile: String? { get }
    /// When what it names ends, as far as files and the declaration tell.
    var ends: [CredentialExpiry] { get }

    /// Reads the files and makes the sender; opens no connection.
    ///
    /// - Parameter parts: What all senders are made with.
    /// - Returns: The sender, and the files that it was made from.
    /// - Throws: ``SenderError`` that says which file or setting is wrong.
    func makeSender(_ parts: SenderParts) throws(SenderError) -> (sender: any PushSender, files: [CredentialFile])
}

extension SenderConfiguration {
    /// The end of the certificates that it trusts.
    var trustEnds: [CredentialExpiry] {
        let setting = "\(Self.service.rawValue).trust_file"
        let end = self.trustFile.flatMap {
            CredentialExpiry.ofCertificates(setting: setting, path: $0, isChain: false)
        }
        return [end].compactMap { $0 }
    }
}

extension AppSpec {
    /// What the sender for a service is made from.
    ///
    /// - Throws: ``SenderError`` where the app declares none, or the service takes nothing any more.
    func configuration(for pns: PushService) throws(SenderError) -> any SenderConfiguration {
        guard pns.isInService else {
            throw SenderError(.retired, "\(pns.rawValue) was switched off and takes nothing any more")
        }
        // Each service's folder makes its credentials a configuration, and a test looks that none forgets to.
        guard let configuration = self.credentials[pns] as? any SenderConfiguration else {
            throw SenderError(.notConfigured, "the app declares no \(pns.rawValue): add it to its file and apply that")
        }
        return configuration
    }
}
