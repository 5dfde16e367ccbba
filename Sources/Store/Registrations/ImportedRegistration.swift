package import PushModel

/// A registration to import: from another hub, or from an export.
package struct ImportedRegistration: Sendable, Equatable {
    /// The id that the device's app keeps; nil = that of the live registration with this handle, or a new one.
    package var id: RegistrationID?
    package var pns: PushService
    package var handle: Handle
    /// With which of the app's credentials it is reached.
    package var credential: CredentialName
    package var user: UserName?
    /// The tags besides the user's own, which the store adds.
    package var tags: [Tag]
    /// When it expires; nil = after the lifetime that the import gives.
    package var expires: Timestamp?
    /// What it makes of the properties of a send; nil = it is for native notifications.
    package var template: DeviceTemplate?
    /// The platform under which a hub's wire shows it, if that is another than its service's.
    package var platform: String?

    package init(
        id: RegistrationID? = nil,
        pns: PushService,
        handle: Handle,
        credential: CredentialName = .default,
        user: UserName? = nil,
        tags: [Tag] = [],
        expires: Timestamp? = nil,
        template: DeviceTemplate? = nil,
        platform: String? = nil
    ) {
        self.id = id
        self.pns = pns
        self.handle = handle
        self.credential = credential
        self.user = user
        self.tags = tags
        self.expires = expires
        self.template = template
        self.platform = platform
    }

    /// How its client wrote it.
    package var written: WrittenDevice? { WrittenDevice(platform: self.platform) }
}

/// The result of importing one registration.
package enum ImportResult: Sendable, Equatable {
    /// There is a new registration.
    case created
    /// The registration with that id or handle is now as the import has it.
    case updated
    /// A change that was accepted after the import's beginning came first; it stands.
    case superseded
    /// The id was deleted and cannot be used again.
    case gone
    /// It is one template more than a device may have, with the reason in words.
    case refused(String)
}

/// What an import of some registrations came to.
package struct ImportedRegistrations: Sendable {
    /// The sequence that the import's changes carry: higher than that of every job accepted before it began (rule 11).
    package let sequence: Int64
    /// The result for each.
    package let results: [ImportResult]

    package init(sequence: Int64, results: [ImportResult]) {
        self.sequence = sequence
        self.results = results
    }
}
