import PushModel

/// The configuration of a sender: an app's declaration for one push service.
///
/// Each service's folder extends its own credentials.
protocol SenderConfiguration: ServiceCredentials {
    /// Certificates to trust instead of the system's, PEM; for simulators.
    var trustFile: String? { get }
    /// The expiry dates of its credentials, from files and from the declaration.
    var ends: [CredentialExpiry] { get }

    /// Reads the files and makes the sender; opens no connection.
    ///
    /// - Parameter parts: The common parts of senders.
    /// - Returns: The sender, and the files that it was made from.
    /// - Throws: ``SenderError`` that names the wrong file or setting.
    func makeSender(_ parts: SenderParts) throws(SenderError) -> (sender: any PushSender, files: [CredentialFile])

    /// How the service is asked whether it takes the credential; nil = it cannot be asked without a device.
    var probe: CredentialProbe? { get }

    /// What somebody should do about what the service, or its token service, has said; nil = nothing is known of that.
    static func advice(on reason: String, status: Int?) -> String?
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
    /// The sender configuration for a service's credential.
    ///
    /// - Throws: ``SenderError`` where the app declares none, or the service is retired.
    func configuration(
        for pns: PushService,
        _ credential: CredentialName
    ) throws(SenderError) -> any SenderConfiguration {
        guard pns.isInService else {
            throw SenderError(.retired, pns.retiredReason)
        }
        // Each service's folder makes its credentials a configuration, and a test looks that none forgets to.
        guard let configuration = self.credentials[pns, credential] as? any SenderConfiguration else {
            throw SenderError(.notConfigured, pns.noCredentialsReason(credential))
        }
        return configuration
    }
}
