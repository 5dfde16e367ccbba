package import PushModel

/// A named credential, and how many live registrations name it.
package struct CredentialUse: Sendable, Equatable {
    package let pns: PushService
    package let credential: CredentialName
    package let devices: Int

    package init(pns: PushService, credential: CredentialName, devices: Int) {
        self.pns = pns
        self.credential = credential
        self.devices = devices
    }
}
