/// An app as its operator declares it: credentials, limits and habits.
///
/// It holds paths of secrets, never secrets. It is read from the YAML of `pushline apps apply FILE` and kept in the store
/// as JSON.
package struct AppSpec: Codable, Sendable, Equatable {
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

    package var authentication: Authentication
    /// The tokens of the app's own issuer, beside accounts and keys; nil = none are taken.
    package var tokens: TokenSettings?
    /// It is fixed once there are registrations or jobs.
    package var users: Users
    /// Beginnings of tags that users may not claim.
    package var reservedTags: [String]
    package var recording: Recording
    /// The credentials for push services; the default ones are also accessible by service, such as ``apns``, with their types.
    package var credentials = DeclaredCredentials()
    /// The content of `POST /api/notifications` without a body, and the limits on stored notifications.
    package var richDefault: RichDefault
    /// The quotas of uploads; nil = `Contents()`.
    package var contents: Contents?
    /// Requests a second and account; nil = the process's own limit.
    package var requestsPerSecond: Int?
    /// Days after which a registration that was not renewed expires; nil = never.
    package var registrationLifetimeDays: Int?
    /// Live registrations that a user may make; nil = ``defaultRegistrationsPerUser``.
    package var registrationsPerUser: Int?
    /// Tags that a registration may have, its user's own not counted; nil = ``defaultTagsPerRegistration``.
    package var tagsPerRegistration: Int?
    /// Whose pages in a browser may call the API (CORS).
    package var origins: [WebOrigin] = []
    /// Where its devices are registered, and its sends go; nil = the embedded hub.
    ///
    /// Which of both is fixed once there are registrations or jobs.
    package var azureHub: AzureHub?

    /// The default limit of a user's live registrations.
    package static let defaultRegistrationsPerUser = 100
    /// The default limit of a registration's tags, and the most that an app may say.
    package static let defaultTagsPerRegistration = 200
    package static let maximumTagsPerRegistration = 1000
    /// The most tags that an Azure hub is sure to take.
    private static let tagsAtAzure = 60

    /// The most tags of a registration, its user's own not counted.
    package var mostTags: Int {
        let own = self.tagsPerRegistration ?? Self.defaultTagsPerRegistration
        return self.azureHub == nil ? own : min(own, Self.tagsAtAzure)
    }

    package init(
        authentication: Authentication = .accounts,
        users: Users = .folded,
        reservedTags: [String] = [],
        recording: Recording = .failures,
        credentials: [any ServiceCredentials] = [],
        richDefault: RichDefault = RichDefault(),
        contents: Contents? = nil,
        requestsPerSecond: Int? = nil,
        registrationLifetimeDays: Int? = nil,
        registrationsPerUser: Int? = nil
    ) {
        self.authentication = authentication
        self.users = users
        self.reservedTags = reservedTags
        self.recording = recording
        for one in credentials { self.credentials[type(of: one).service] = one }
        self.richDefault = richDefault
        self.contents = contents
        self.requestsPerSecond = requestsPerSecond
        self.registrationLifetimeDays = registrationLifetimeDays
        self.registrationsPerUser = registrationsPerUser
    }

    private enum CodingKeys: String, CodingKey {
        case authentication, users, reservedTags, recording, richDefault, contents
        case requestsPerSecond, registrationLifetimeDays, registrationsPerUser, tagsPerRegistration
        case tokens, origins
        case azureHub = "hub"
    }

    /// Reads the stored form, where credentials stand beside the rest.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.authentication = try container.decode(Authentication.self, forKey: .authentication)
        self.users = try container.decode(Users.self, forKey: .users)
        self.reservedTags = try container.decode([String].self, forKey: .reservedTags)
        self.recording = try container.decode(Recording.self, forKey: .recording)
        self.credentials = try DeclaredCredentials(from: decoder)
        self.richDefault = try container.decode(RichDefault.self, forKey: .richDefault)
        self.contents = try container.decodeIfPresent(Contents.self, forKey: .contents)
        self.requestsPerSecond = try container.decodeIfPresent(Int.self, forKey: .requestsPerSecond)
        self.registrationLifetimeDays = try container.decodeIfPresent(Int.self, forKey: .registrationLifetimeDays)
        self.registrationsPerUser = try container.decodeIfPresent(Int.self, forKey: .registrationsPerUser)
        self.tagsPerRegistration = try container.decodeIfPresent(Int.self, forKey: .tagsPerRegistration)
        self.tokens = try container.decodeIfPresent(TokenSettings.self, forKey: .tokens)
        self.origins = try container.decodeIfPresent([WebOrigin].self, forKey: .origins) ?? []
        self.azureHub = try container.decodeIfPresent(AzureHub.self, forKey: .azureHub)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.authentication, forKey: .authentication)
        try container.encode(self.users, forKey: .users)
        try container.encode(self.reservedTags, forKey: .reservedTags)
        try container.encode(self.recording, forKey: .recording)
        try self.credentials.encode(to: encoder)
        try container.encode(self.richDefault, forKey: .richDefault)
        try container.encodeIfPresent(self.contents, forKey: .contents)
        try container.encodeIfPresent(self.requestsPerSecond, forKey: .requestsPerSecond)
        try container.encodeIfPresent(self.registrationLifetimeDays, forKey: .registrationLifetimeDays)
        try container.encodeIfPresent(self.registrationsPerUser, forKey: .registrationsPerUser)
        try container.encodeIfPresent(self.tagsPerRegistration, forKey: .tagsPerRegistration)
        try container.encodeIfPresent(self.tokens, forKey: .tokens)
        if !self.origins.isEmpty { try container.encode(self.origins, forKey: .origins) }
        try container.encodeIfPresent(self.azureHub, forKey: .azureHub)
    }

    /// The push services that the app has credentials for, or that its hub is to send to.
    package var services: [PushService] { PushService.allCases.filter(self.hasService) }

    /// Whether the app can send to a service.
    package func hasService(_ pns: PushService) -> Bool {
        self.azureHub.map { $0.platforms.contains(pns) } ?? (self.credentials[pns] != nil)
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

    /// How many bytes of uploaded content are kept at a time.
    package struct Contents: Codable, Sendable, Equatable {
        /// Of each account or key.
        package var accountBytes: Int
        /// Of all of the app together.
        package var appBytes: Int

        package init(accountBytes: Int = 100 << 20, appBytes: Int = 10 << 30) {
            self.accountBytes = accountBytes
            self.appBytes = appBytes
        }
    }

    /// The default rich notification of the classic route, and the settings of all rich notifications.
    package struct RichDefault: Codable, Sendable, Equatable {
        package var message: String
        package var richType: String
        /// The id of uploaded content; nil = Pushline's own small picture.
        package var content: String?
        /// Whether the payload has only `secureId`, and the notification is fetched as JSON with its text.
        package var isSecure: Bool
        /// The most that are kept for an account.
        package var perAccount: Int
        /// The most that are kept for the app.
        package var perApp: Int

        package init(
            message: String = "Check this image out!",
            richType: String = "img",
            content: String? = nil,
            isSecure: Bool = false,
            perAccount: Int = 1000,
            perApp: Int = 1_000_000
        ) {
            self.message = message
            self.richType = richType
            self.content = content
            self.isSecure = isSecure
            self.perAccount = perAccount
            self.perApp = perApp
        }

        /// Members missing in an older declaration have their defaults.
        package init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            self.init(
                message: try container.decode(String.self, forKey: .message),
                richType: try container.decode(String.self, forKey: .richType),
                content: try container.decodeIfPresent(String.self, forKey: .content)
            )
            self.isSecure = try container.decodeIfPresent(Bool.self, forKey: .isSecure) ?? self.isSecure
            self.perAccount = try container.decodeIfPresent(Int.self, forKey: .perAccount) ?? self.perAccount
            self.perApp = try container.decodeIfPresent(Int.self, forKey: .perApp) ?? self.perApp
        }
    }
}
