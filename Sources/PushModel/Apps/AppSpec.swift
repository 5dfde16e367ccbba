/// An app as its operator declares it: hub, credentials, limits and habits.
///
/// It holds paths of secrets, never secrets. It is read from the YAML of `pushline apps apply FILE` and kept in the store
/// as JSON.
package struct AppSpec: Codable, Sendable, Equatable {
    /// Which hub the app's sends go through.
    package enum HubKind: String, Codable, Sendable, CaseIterable {
        /// Our own: registrations in the store, deliveries by our workers.
        case embedded
    }

    /// How callers prove who they are.
    package enum Authentication: String, Codable, Sendable, CaseIterable {
        /// Accounts with passwords, and keys.
        case accounts
        /// User name = password, as the classic demonstration backend has it; only on a loopback address.
        case demonstration
    }

    /// Which devices a job lists one by one.
    package enum Recording: String, Codable, Sendable, CaseIterable {
        /// Those that failed or were pruned.
        case failures
        /// All.
        case all
    }

    package var hub: HubKind
    package var authentication: Authentication
    /// Beginnings of tags that users may not claim.
    package var reservedTags: [String]
    package var recording: Recording
    package var apns: APNs?
    package var fcm: FCM?
    package var wns: WNS?
    /// What `POST /api/notifications` without a query sends, and how much of it is kept.
    package var richDefault: RichDefault
    /// How much content may be uploaded; nil = as much as `Contents()` says.
    package var contents: Contents?
    /// Requests a second and account; nil = the process's own limit.
    package var requestsPerSecond: Int?
    /// Days after which a registration that was not renewed expires; nil = never.
    package var registrationLifetimeDays: Int?
    /// Live registrations that a user may make; nil = ``defaultRegistrationsPerUser``.
    package var registrationsPerUser: Int?

    /// Live registrations that a user may make where the app says nothing.
    package static let defaultRegistrationsPerUser = 100

    package init(
        hub: HubKind = .embedded,
        authentication: Authentication = .accounts,
        reservedTags: [String] = [],
        recording: Recording = .failures,
        apns: APNs? = nil,
        fcm: FCM? = nil,
        wns: WNS? = nil,
        richDefault: RichDefault = RichDefault(),
        contents: Contents? = nil,
        requestsPerSecond: Int? = nil,
        registrationLifetimeDays: Int? = nil,
        registrationsPerUser: Int? = nil
    ) {
        self.hub = hub
        self.authentication = authentication
        self.reservedTags = reservedTags
        self.recording = recording
        self.apns = apns
        self.fcm = fcm
        self.wns = wns
        self.richDefault = richDefault
        self.contents = contents
        self.requestsPerSecond = requestsPerSecond
        self.registrationLifetimeDays = registrationLifetimeDays
        self.registrationsPerUser = registrationsPerUser
    }

    /// The most devices to send to in a second through that service, over all jobs and workers; nil = as fast as it goes.
    package func devicesPerSecond(for pns: PushService) -> Int? {
        switch pns {
        case .apns: self.apns?.devicesPerSecond
        case .fcm: self.fcm?.devicesPerSecond
        case .wns: self.wns?.devicesPerSecond
        case .mpns: nil
        }
    }

    /// Token-based credentials for APNs.
    package struct APNs: Codable, Sendable, Equatable {
        /// The `.p8` file: an EC P-256 private key, PKCS#8 PEM.
        package var keyFile: String
        package var keyID: String
        package var teamID: String
        /// The app's bundle id.
        package var topic: String
        /// Where to send; Apple's production service unless said.
        package var endpoint: String
        /// Certificates to trust instead of the system's, PEM; for simulators.
        package var trustFile: String?
        /// The most devices to send to in a second; nil = as fast as it goes.
        package var devicesPerSecond: Int?

        package static let production = "https://api.push.apple.com"
        package static let sandbox = "https://api.sandbox.push.apple.com"

        package init(
            keyFile: String,
            keyID: String,
            teamID: String,
            topic: String,
            endpoint: String = APNs.production,
            trustFile: String? = nil,
            devicesPerSecond: Int? = nil
        ) {
            self.keyFile = keyFile
            self.keyID = keyID
            self.teamID = teamID
            self.topic = topic
            self.endpoint = endpoint
            self.trustFile = trustFile
            self.devicesPerSecond = devicesPerSecond
        }
    }

    /// A service account for FCM HTTP v1.
    package struct FCM: Codable, Sendable, Equatable {
        /// The service account's JSON file; names project, key and token address.
        package var serviceAccountFile: String
        package var endpoint: String
        package var trustFile: String?
        /// The most devices to send to in a second; nil = as fast as it goes.
        package var devicesPerSecond: Int?

        package static let production = "https://fcm.googleapis.com"

        package init(
            serviceAccountFile: String,
            endpoint: String = FCM.production,
            trustFile: String? = nil,
            devicesPerSecond: Int? = nil
        ) {
            self.serviceAccountFile = serviceAccountFile
            self.endpoint = endpoint
            self.trustFile = trustFile
            self.devicesPerSecond = devicesPerSecond
        }
    }

    /// Client credentials for WNS.
    package struct WNS: Codable, Sendable, Equatable {
        /// The application (client) id, or the package SID (`ms-app://…`) for the older Store token service.
        package var clientID: String
        /// The file that holds the client secret, alone.
        package var clientSecretFile: String
        /// When the secret ends, as whoever issued it said: the file does not tell; nil = unknown.
        package var secretEnds: Timestamp?
        /// Where tokens come from, such as `https://login.microsoftonline.com/<tenant>/oauth2/v2.0/token`.
        package var tokenURL: String
        package var scope: String
        /// Beginnings of channel URIs that are taken besides `https` hosts under `notify.windows.com`; for simulators.
        package var channelPrefixes: [String]
        package var trustFile: String?
        /// The most devices to send to in a second; nil = as fast as it goes.
        package var devicesPerSecond: Int?

        package static let scope = "https://wns.windows.com/.default"

        package init(
            clientID: String,
            clientSecretFile: String,
            secretEnds: Timestamp? = nil,
            tokenURL: String,
            scope: String = WNS.scope,
            channelPrefixes: [String] = [],
            trustFile: String? = nil,
            devicesPerSecond: Int? = nil
        ) {
            self.clientID = clientID
            self.clientSecretFile = clientSecretFile
            self.secretEnds = secretEnds
            self.tokenURL = tokenURL
            self.scope = scope
            self.channelPrefixes = channelPrefixes
            self.trustFile = trustFile
            self.devicesPerSecond = devicesPerSecond
        }
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

    /// The rich notification that the classic route sends without a body, and what holds for all of them.
    package struct RichDefault: Codable, Sendable, Equatable {
        package var message: String
        package var richType: String
        /// The id of uploaded content; nil = the small picture that Pushline brings along.
        package var content: String?
        /// The payload carries `secureId` alone, and whoever fetches the notification is handed its text as JSON.
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

        /// What an older declaration does not say is the default.
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
