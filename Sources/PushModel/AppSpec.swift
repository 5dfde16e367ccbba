/// An app as its operator declares it: hub, credentials, limits and habits. It holds paths of secrets, never secrets.
///
/// It is read from the YAML of `pushline apps apply FILE` and kept in the store as JSON.
public struct AppSpec: Codable, Sendable, Equatable {
    /// Which hub the app's sends go through.
    public enum HubKind: String, Codable, Sendable, CaseIterable {
        /// Our own: registrations in the store, deliveries by our workers.
        case embedded
    }

    /// How callers prove who they are.
    public enum Authentication: String, Codable, Sendable, CaseIterable {
        /// Accounts with passwords, and keys.
        case accounts
        /// User name = password, as the classic demonstration backend has it; only on a loopback address.
        case demonstration
    }

    /// Which devices a job lists one by one.
    public enum Recording: String, Codable, Sendable, CaseIterable {
        /// Those that failed or were pruned.
        case failures
        /// All.
        case all
    }

    public var hub: HubKind
    public var authentication: Authentication
    /// Beginnings of tags that users may not claim.
    public var reservedTags: [String]
    public var recording: Recording
    public var apns: APNs?
    public var fcm: FCM?
    public var wns: WNS?
    /// What `POST /api/notifications` without query and body sends.
    public var richDefault: RichDefault
    /// Requests a second and account; nil = the process's own limit.
    public var requestsPerSecond: Int?
    /// Days after which a registration that was not renewed expires; nil = never.
    public var registrationLifetimeDays: Int?

    public init(
        hub: HubKind = .embedded,
        authentication: Authentication = .accounts,
        reservedTags: [String] = [],
        recording: Recording = .failures,
        apns: APNs? = nil,
        fcm: FCM? = nil,
        wns: WNS? = nil,
        richDefault: RichDefault = RichDefault(),
        requestsPerSecond: Int? = nil,
        registrationLifetimeDays: Int? = nil
    ) {
        self.hub = hub
        self.authentication = authentication
        self.reservedTags = reservedTags
        self.recording = recording
        self.apns = apns
        self.fcm = fcm
        self.wns = wns
        self.richDefault = richDefault
        self.requestsPerSecond = requestsPerSecond
        self.registrationLifetimeDays = registrationLifetimeDays
    }

    /// Token-based credentials for APNs.
    public struct APNs: Codable, Sendable, Equatable {
        /// The `.p8` file: an EC P-256 private key, PKCS#8 PEM.
        public var keyFile: String
        public var keyID: String
        public var teamID: String
        /// The app's bundle id.
        public var topic: String
        /// Where to send; Apple's production service unless said.
        public var endpoint: String
        /// Certificates to trust instead of the system's, PEM; for simulators.
        public var trustFile: String?

        public static let production = "https://api.push.apple.com"
        public static let sandbox = "https://api.sandbox.push.apple.com"

        public init(
            keyFile: String,
            keyID: String,
            teamID: String,
            topic: String,
            endpoint: String = APNs.production,
            trustFile: String? = nil
        ) {
            self.keyFile = keyFile
            self.keyID = keyID
            self.teamID = teamID
            self.topic = topic
            self.endpoint = endpoint
            self.trustFile = trustFile
        }
    }

    /// A service account for FCM HTTP v1.
    public struct FCM: Codable, Sendable, Equatable {
        /// The service account's JSON file; names project, key and token address.
        public var serviceAccountFile: String
        public var endpoint: String
        public var trustFile: String?

        public static let production = "https://fcm.googleapis.com"

        public init(serviceAccountFile: String, endpoint: String = FCM.production, trustFile: String? = nil) {
            self.serviceAccountFile = serviceAccountFile
            self.endpoint = endpoint
            self.trustFile = trustFile
        }
    }

    /// Client credentials for WNS.
    public struct WNS: Codable, Sendable, Equatable {
        /// The application (client) id, or the package SID (`ms-app://…`) for the older Store token service.
        public var clientID: String
        /// The file that holds the client secret, alone.
        public var clientSecretFile: String
        /// Where tokens come from, such as `https://login.microsoftonline.com/<tenant>/oauth2/v2.0/token`.
        public var tokenURL: String
        public var scope: String
        /// Beginnings of channel URIs that are taken besides `https` hosts under `notify.windows.com`; for simulators.
        public var channelPrefixes: [String]
        public var trustFile: String?

        public static let scope = "https://wns.windows.com/.default"

        public init(
            clientID: String,
            clientSecretFile: String,
            tokenURL: String,
            scope: String = WNS.scope,
            channelPrefixes: [String] = [],
            trustFile: String? = nil
        ) {
            self.clientID = clientID
            self.clientSecretFile = clientSecretFile
            self.tokenURL = tokenURL
            self.scope = scope
            self.channelPrefixes = channelPrefixes
            self.trustFile = trustFile
        }
    }

    /// The rich notification that the classic route sends without a body.
    public struct RichDefault: Codable, Sendable, Equatable {
        public var message: String
        public var richType: String
        /// The id of uploaded content; nil = the small picture that Pushline brings along.
        public var content: String?

        public init(message: String = "Check this image out!", richType: String = "img", content: String? = nil) {
            self.message = message
            self.richType = richType
            self.content = content
        }
    }
}
