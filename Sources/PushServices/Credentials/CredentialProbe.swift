package import PushModel

/// How a push service is asked whether it takes a credential, so that nobody gets anything: as ever, for a device that cannot exist.
package struct CredentialProbe: Sendable {
    /// The device.
    package let device: Handle
    /// Whether it is sent as a dry run: FCM then checks it, and of WNS a token is fetched and nothing more asked.
    package let isDryRun: Bool
    /// What is known if nothing is refused, as a sentence.
    package let meaning: String
}

extension AppSpec {
    /// How a service is asked for a credential.
    ///
    /// - Returns: nil = it cannot be asked without a device.
    /// - Throws: ``SenderError`` if the app declares none, or the service is retired.
    package func probe(
        for pns: PushService,
        _ credential: CredentialName
    ) throws(SenderError) -> CredentialProbe? {
        try self.configuration(for: pns, credential).probe
    }

    /// What somebody should do about what a service, or its token service, has said.
    ///
    /// - Parameters:
    ///   - reason: As a ``DeviceResult`` has it.
    ///   - status: The same.
    ///   - pns: The service.
    ///   - credential: The app's credential that it was said of.
    /// - Returns: nil = nothing is known of that.
    package func advice(
        on reason: String,
        status: Int?,
        at pns: PushService,
        _ credential: CredentialName
    ) -> String? {
        guard let configuration = try? self.configuration(for: pns, credential) else { return nil }
        return type(of: configuration).advice(on: reason, status: status)
    }
}

/// What token services refuse (RFC 6749, section 5.2), as a reason has it.
enum EndpointRefusal {
    /// What stands before a token service's own word in a reason.
    static let prefix = "token service: "

    /// The service's word; nil = the reason is not a token service's.
    static func word(of reason: String) -> String? {
        reason.hasPrefix(self.prefix) ? String(reason.dropFirst(self.prefix.count)) : nil
    }
}
