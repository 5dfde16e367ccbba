/// A device's registration: its address, its user and its tags.
package struct Registration: Sendable, Equatable {
    /// The store's number for it: ascends, is never reused, survives re-registration (rule 2).
    package let row: Int64
    package let id: RegistrationID
    package let app: AppID
    package let user: UserName?
    package let pns: PushService?
    package let handle: Handle?
    /// With which of the app's credentials it is reached.
    package let credential: CredentialName
    /// All tags, the user's own included where the name can stand in one, sorted.
    package let tags: [Tag]
    package let state: State
    package let updated: Timestamp
    /// The sequence of its last change (rule 11), which a patch of tags leaves as it is; 0 = of one that is not stored.
    package let version: Int64
    /// When it stops being sent to unless it is registered again; nil = never.
    package let expires: Timestamp?
    /// When and why it left ``State/live``, if it did.
    package let ended: Ended?
    /// nil = it is for native notifications.
    package let template: DeviceTemplate?
    /// nil = its client wrote it as it is shown.
    package let written: WrittenDevice?

    package init(
        row: Int64,
        id: RegistrationID,
        app: AppID,
        user: UserName?,
        pns: PushService?,
        handle: Handle?,
        credential: CredentialName = .default,
        tags: [Tag],
        state: State,
        updated: Timestamp,
        version: Int64 = 0,
        expires: Timestamp? = nil,
        ended: Ended? = nil,
        template: DeviceTemplate? = nil,
        written: WrittenDevice? = nil
    ) {
        self.row = row
        self.id = id
        self.app = app
        self.user = user
        self.pns = pns
        self.handle = handle
        self.credential = credential
        self.tags = tags
        self.state = state
        self.updated = updated
        self.version = version
        self.expires = expires
        self.ended = ended
        self.template = template
        self.written = written
    }

    /// Where a registration stands.
    package enum State: String, Codable, Sendable, CaseIterable {
        /// It is sent to.
        case live
        /// The push service reported the handle as dead.
        ///
        /// A PUT by its owner revives it.
        case pruned
        /// Not registered again in time. A PUT by its owner revives it.
        case expired
        /// Another registration has its handle now, or its place among those of its user. A PUT by its owner revives it.
        case replaced
        /// Deleted on purpose: its id is gone for good.
        case deleted
    }

    /// The end of a registration's life, for the operator who asks.
    package struct Ended: Codable, Sendable, Equatable {
        package let at: Timestamp
        /// Such as the push service's reason.
        package let reason: String

        package init(at: Timestamp, reason: String) {
            self.at = at
            self.reason = reason
        }
    }
}

/// The work of a register job: a change to the registrations, or a request to Apple about broadcast channels.
package enum RegisterRequest: Codable, Sendable, Equatable {
    /// Finds the registrations with the handle, returns the first one's id and deletes the others; without any, it
    /// returns `candidate`.
    ///
    /// The handle comes without its service, in the forms under which it may be stored. A returned candidate is not
    /// stored: the registration begins with its first ``upsert``.
    case issue(candidate: RegistrationID, handles: [Handle])
    /// Create or replace the registration under that id.
    case upsert(RegistrationID, Upsert)
    /// Replace the live registration that has the handle; with none, create one under `candidate`.
    case create(candidate: RegistrationID, Upsert)
    /// Make the live registrations with a tag these, and no others.
    case install(Installation)
    /// Add tags to the live registration with that id, take others away, and give it another credential.
    case patch(RegistrationID, Patch)
    /// Delete the registration with that id.
    case delete(RegistrationID)
    /// Remove all that there is of a user; nil once it is done, for the job forgets the name too.
    ///
    /// `withAccount`: whether an account of that name goes too; else there must be none.
    case removeUser(UserName?, withAccount: Bool)
    /// Makes, lists, shows or deletes broadcast channels. They belong to no hub: Apple keeps them (decision 40).
    case channel(ChannelRequest)

    /// The new contents of a registration.
    package struct Upsert: Codable, Sendable, Equatable {
        package let pns: PushService
        package let handle: Handle
        /// With which of the app's credentials it is reached; nil = the default one.
        package let credential: CredentialName?
        /// The tags that the caller asked for; the user's own is added by the server.
        package let tags: [Tag]
        /// For whom the app's backend registers the device; nil = a user registers a device of their own.
        package let onBehalf: OnBehalf?
        /// nil = it is for native notifications.
        package let template: DeviceTemplate?
        /// When it is to end; nil = the caller does not say.
        package let expires: Timestamp?
        /// nil = the caller wrote it as it is shown.
        package let written: WrittenDevice?

        package init(
            pns: PushService,
            handle: Handle,
            credential: CredentialName = .default,
            tags: [Tag],
            onBehalf: OnBehalf? = nil,
            template: DeviceTemplate? = nil,
            expires: Timestamp? = nil,
            written: WrittenDevice? = nil
        ) {
            self.pns = pns
            self.handle = handle
            self.credential = credential.named
            self.tags = tags
            self.onBehalf = onBehalf
            self.template = template
            self.expires = expires
            self.written = written
        }
    }

    /// All registrations of an installation: that for native notifications, and one for each of its templates.
    package struct Installation: Codable, Sendable, Equatable {
        /// The tag that only its registrations have.
        package let tag: Tag
        /// The first is for native notifications.
        package let parts: [Part]
        /// What was read before the change was made of it; nil = it does not matter.
        ///
        /// Where that is so no more, nothing is changed.
        package let base: [Base]?

        package init(tag: Tag, parts: [Part], base: [Base]? = nil) {
            self.tag = tag
            self.parts = parts
            self.base = base
        }

        /// A registration as it was read, without a word of what it says: a job keeps it when its user is removed.
        package struct Base: Codable, Sendable, Hashable {
            package let id: RegistrationID
            package let version: Int64
            /// A number of its tags, which a patch changes alone.
            package let tags: UInt64

            package init(_ registration: Registration) {
                self.id = registration.id
                self.version = registration.version
                // FNV-1a; no tag has a line feed.
                self.tags = registration.tags.sorted().map(\.key).joined(separator: "\n").utf8
                    .reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
            }
        }

        /// One of them.
        package struct Part: Codable, Sendable, Equatable {
            /// Its id where there is none yet.
            package let candidate: RegistrationID
            package let upsert: Upsert

            package init(candidate: RegistrationID, upsert: Upsert) {
                self.candidate = candidate
                self.upsert = upsert
            }
        }
    }

    /// Whose registration a backend makes.
    package struct OnBehalf: Codable, Sendable, Equatable {
        /// nil = nobody's: it is reached by its tags.
        package let user: UserName?

        package init(of user: UserName?) { self.user = user }
    }

    /// A change of a registration without its handle.
    package struct Patch: Codable, Sendable, Equatable {
        /// Tags to add.
        package let add: [Tag]
        /// Tags to take away.
        package let remove: [Tag]
        /// With which credential it is reached from now on; nil = as before.
        package let credential: CredentialChoice?
        /// The most tags that it may lead to; nil = ``AppSpec/defaultTagsPerRegistration``.
        package let mostTags: Int?

        package init(
            add: [Tag] = [],
            remove: [Tag] = [],
            credential: CredentialChoice? = nil,
            mostTags: Int? = nil
        ) {
            self.add = add
            self.remove = remove
            self.credential = credential
            self.mostTags = mostTags
        }
    }

    /// A credential, and the services that the app declares one of that name for: only the registration says which is its own.
    package struct CredentialChoice: Codable, Sendable, Equatable {
        package let name: CredentialName
        package let services: [PushService]

        package init(_ name: CredentialName, services: [PushService]) {
            self.name = name
            self.services = services
        }
    }
}

extension RegisterRequest {
    /// The registration that the change names; nil if it is found by its handle.
    package var registration: RegistrationID? {
        switch self {
        case .upsert(let id, _), .patch(let id, _), .delete(let id): id
        case .issue, .create, .install, .removeUser, .channel: nil
        }
    }

    /// What it makes of registrations; several of an installation.
    package var upserts: [Upsert] {
        switch self {
        case .upsert(_, let upsert), .create(_, let upsert): [upsert]
        case .install(let installation): installation.parts.map(\.upsert)
        case .issue, .patch, .delete, .removeUser, .channel: []
        }
    }

    /// When the registration is to end as its caller says; nil = it says nothing, or the change is another.
    package var expires: Timestamp? { self.upserts.first?.expires }

    /// For whom a backend registers the device; nil = it does not, or the change is another.
    package var onBehalf: OnBehalf? { self.upserts.first?.onBehalf }
}

/// The hub's result of a ``RegisterRequest``.
package enum RegisterResult: Codable, Sendable, Equatable {
    /// The id to use.
    case issued(RegistrationID)
    /// Created, updated or deleted.
    case done
    /// A later change to the same registration came first; this one changed nothing.
    case superseded
    /// The id was deleted on purpose, or the hub reports it as gone.
    case gone
    /// The id belongs to another user; for a deletion, also if it does not exist. For a channel: Apple has none of that id.
    case notFound
    /// The channel that was made or shown, or a piece of the list.
    case channels([BroadcastChannel], hasMore: Bool)
    /// The hub refused, with words for the caller.
    case refused(String)
    /// Nobody knows whether it was made: its message is dead, with the reason.
    case unknown(String)
}
