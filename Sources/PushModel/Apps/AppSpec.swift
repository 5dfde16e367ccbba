/// An app as its operator declares it: credentials, limits and habits.
///
/// It holds paths of secrets, never secrets. It is read from the YAML of `pushline apps apply FILE` and kept in the store
/// as JSON, both with the same keys.
package struct AppSpec: SettingsSection, Equatable {
    /// How callers prove who they are.
    package enum Authentication: String, Codable, Sendable, CaseIterable {
        /// Accounts with passwords, and keys.
        case accounts
        /// User name = password, as the classic demonstration backend has it; only on a loopback address.
        case demonstration
    }

    /// How names of users are compared, also those in tags with a meaning (``Tag/Owned``).
    package enum Users: String, Codable, Sendable, CaseIterable {
        /// Ignoring the case of ASCII letters: phones capitalise the first letter of an input.
        case folded
        /// Byte by byte: the users come from another system, whose names may differ only by case.
        case exact
    }

    /// Which devices a job lists one by one.
    package enum Recording: String, Codable, Sendable, CaseIterable {
        /// Devices that failed or were pruned.
        case failures
        /// All.
        case all
    }

    @Setting(
        .choice,
        """
        accounts: accounts with passwords, and keys; demonstration: user name = password, as the classic demonstration backend has it, only \
        on a loopback address
        """
    )
    package var authentication = Authentication.accounts
    @Setting(
        .choice,
        """
        folded: the names of users compare without regard to letter case; exact: byte by byte, for an app whose users come from elsewhere; \
        fixed once the app has registrations or jobs; with tokens exact, unless said
        """
    )
    package var users = Users.folded
    @Setting(
        .beginningsOfTags,
        "beginnings of tags that users may not claim (username: and from: of another user never)",
        example: "[\"role:\", staff]"
    )
    package var reservedTags: [String] = []
    @Setting(.choice, "which devices a job lists one by one: failures, or all") package var recording = Recording
        .failures
    @Setting(
        .integer(1...1_000_000),
        "requests a second for each account and key; more are answered 429; unless said the server's own limit",
        example: "50"
    )
    package var requestsPerSecond: Int? = nil
    @Setting(
        .integer(1...36_500),
        "days after which a registration that was not renewed expires; unless said never",
        example: "90"
    )
    package var registrationLifetimeDays: Int? = nil
    @Setting(
        .integer(1...10_000),
        "live registrations that a user may make; one more replaces the oldest; imports may give a user more"
    )
    package var registrationsPerUser = 100
    @Setting(
        .integer(1...Self.tagsInAList),
        "tags of a registration, its user's own not counted; at an Azure hub, and for clients of pushline-hub, 60 at most"
    )
    package var tagsPerRegistration = Self.defaultTagsPerRegistration
    @Setting(
        .hub,
        """
        where its devices are registered and its sends go: embedded, or an Azure Notification Hub, and then no section of a push service \
        follows; which of both is fixed once the app has registrations or jobs
        """,
        named: "hub"
    )
    package var azureHub: AzureHub? = nil
    @Setting(
        .sectionOrNone(),
        "the tokens (JWT) of the app's own issuer, beside accounts and keys: their users need no account, and have the role user"
    )
    package var tokens: TokenSettings? = nil
    @Setting(.section, "for pages in browsers") package var api = API()
    /// The credentials for push services; the default ones are also accessible by service, such as ``apns``, with their types.
    package var credentials = DeclaredCredentials()
    @Setting(.section, "what POST /api/notifications without query and body sends", named: "rich")
    package var richDefault = RichDefault()
    @Setting(
        .section,
        "quotas for uploaded content (POST /api/contents), in bytes, 1 KiB extra for each; above them an upload is answered 507"
    )
    package var contents = Contents()

    /// The default of ``tagsPerRegistration``, for those who know no app.
    package static let defaultTagsPerRegistration = 200
    /// The most tags that one list may have, repeated ones counted, whatever the app sets.
    package static let tagsInAList = 1000
    /// The most tags that an Azure hub is sure to take.
    private static let tagsAtAzure = 60

    /// The most tags of a registration, its user's own not counted.
    package var mostTags: Int {
        self.azureHub == nil ? self.tagsPerRegistration : min(self.tagsPerRegistration, Self.tagsAtAzure)
    }

    /// How long a registration lives that is not renewed; nil = for ever.
    package var registrationLifetime: Duration? { self.registrationLifetimeDays.map { .seconds($0 * 86_400) } }

    package init() {}

    /// The push services that the app has credentials for, or that its hub is to send to.
    package var services: [PushService] { PushService.allCases.filter(self.hasService) }

    /// Whether the app can send to a service.
    package func hasService(_ pns: PushService) -> Bool {
        self.azureHub.map { $0.platforms.contains(pns) } ?? self.credentials.has(pns)
    }

    /// The credential that a device is to be reached with.
    ///
    /// - Parameters:
    ///   - name: Its name; nil = the default one.
    ///   - pns: The device's service.
    /// - Returns: The name. The default one may be missing: a device can be registered before its service is declared.
    /// - Throws: ``InvalidValue`` that lists the declared ones.
    package func credential(_ name: String?, of pns: PushService) throws(InvalidValue) -> CredentialName {
        guard let name, name != CredentialName.default.name else { return .default }
        let declared = self.credentials.names(of: pns)
        guard let found = declared.first(where: { $0.name == name }) else {
            let list = declared.isEmpty ? "none" : declared.map(\.name).joined(separator: ", ")
            throw InvalidValue("the app declares no \(pns.rawValue) credential of that name; declared: \(list)")
        }
        return found
    }

    /// Checks the handle of a device that registers with the app.
    ///
    /// - Parameters:
    ///   - text: The text from the device.
    ///   - pns: The handle's service.
    /// - Returns: The normalized handle.
    /// - Throws: ``InvalidValue``, from ``Handle``.
    package func handle(_ text: String, of pns: PushService) throws(InvalidValue) -> Handle {
        try Handle(text, pns: pns, channelPrefixes: pns.descriptor.handle.prefixes(self))
    }
}

// Its sections.
extension AppSpec {
    /// What pages in browsers may do.
    package struct API: SettingsSection, Equatable {
        @Setting(
            .list(of: .origin),
            "the origins whose pages may call the API (CORS); plain HTTP for localhost only",
            example: "[\"https://app.example.com\", \"http://localhost:5173\"]"
        )
        package var origins: [WebOrigin] = []

        package init() {}
    }

    /// The default rich notification of the classic route, and the settings of all rich notifications.
    package struct RichDefault: SettingsSection, Equatable {
        @Setting(.text, "its text") package var message = "Check this image out!"
        @Setting(.text, "img is what existing apps know") package var richType = "img"
        @Setting(
            .text,
            "the id of uploaded content (POST /api/contents); unless said a small picture that Pushline brings along",
            example: "8f14e45fceea167a"
        )
        package var content: String? = nil
        @Setting(
            .flag,
            """
            true: the payload is {"aps":{"content-available":1},"secureId":"N"}, and GET /api/notifications/N returns the text as \
            {"Id":N,"Payload":"…","Read":false}, as apps of the secure push sample expect
            """,
            named: "secure"
        )
        package var isSecure = false
        @Setting(
            .integer(1...1_000_000),
            """
            the most that are kept for an account; at this limit and the next the account's oldest read one is deleted for a new one, and if \
            none was read, the new one is refused (507)
            """
        )
        package var perAccount = 1000
        @Setting(.integer(1...100_000_000), "the most that are kept for the app") package var perApp = 1_000_000

        package init() {}
    }

    /// How many bytes of uploaded content are kept at a time.
    package struct Contents: SettingsSection, Equatable {
        @Setting(.integer(0...1 << 50), "of each account or key") package var accountBytes = 104_857_600
        @Setting(.integer(0...1 << 50), "of the whole app") package var appBytes = 10_737_418_240

        package init() {}
    }
}

// Reading and writing.
extension AppSpec {
    /// Reads the declaration that stands in a file.
    ///
    /// - Parameter node: The app's section.
    /// - Throws: ``SettingFault`` for the first thing that is wrong.
    package init(reading node: SettingNode) throws(SettingFault) {
        self.init()
        try self.take(node)
        // The issuer's names may differ by letter case alone.
        if self.tokens != nil, node["users"] == nil { self.users = .exact }
        try self.check(node)
    }

    package var fault: SettingFault? {
        if self.tokens != nil, self.authentication != .accounts {
            return SettingFault("needs authentication: accounts", path: "tokens")
        }
        guard self.azureHub != nil else { return nil }
        // Azure compares tags without letter case, those of users too: Bob would be reached as bob.
        guard self.users == .folded else {
            return SettingFault(
                "must be folded if the app has hub.azure, even with tokens; write users: folded",
                path: "users"
            )
        }
        return PushService.inService.first { self.credentials[$0] != nil }.map {
            SettingFault(
                "cannot be used with hub.azure, because the hub has the credentials; remove it",
                path: $0.rawValue
            )
        }
    }
}

/// As the store keeps it.
extension AppSpec: Codable {
    package init(from decoder: any Decoder) throws {
        self.init()
        try self.take(StoredSettings(from: decoder).node)
    }

    package func encode(to encoder: any Encoder) throws { try StoredSettings(self.written).encode(to: encoder) }
}

extension SettingKind where Value == [String] {
    fileprivate static var beginningsOfTags: Self {
        .list(of: .text).checked { texts throws(InvalidValue) in
            for text in texts {
                do throws(InvalidValue) { _ = try Tag(text, .folded) } catch {
                    throw InvalidValue("no tag can begin with \"\(text)\": \(error.reason)")
                }
            }
        }
    }
}
