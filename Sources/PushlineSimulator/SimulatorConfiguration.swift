/// Where a simulator listens, whom it believes, and how strict its limits are.
package struct SimulatorConfiguration: Sendable {
    /// Ports on 127.0.0.1; 0 = any free one.
    package struct Ports: Sendable {
        package var apns: Int
        package var fcm: Int
        package var wns: Int
        package var control: Int

        package init(apns: Int = 0, fcm: Int = 0, wns: Int = 0, control: Int = 0) {
            self.apns = apns
            self.fcm = fcm
            self.wns = wns
            self.control = control
        }
    }

    package var ports: Ports
    /// Where credentials are written; nil = a temporary folder that is removed at the end.
    package var folder: String?
    /// Bundle ids that the APNs key may send to; the first one is written to `apps.yaml`.
    package var bundleIDs: [String]
    /// `SETTINGS_MAX_CONCURRENT_STREAMS` of an APNs connection until its first valid provider token.
    package var apnsInitialStreams: Int
    /// The same afterwards.
    package var apnsStreams: Int
    /// The same on an FCM connection; one stream more ends it with GOAWAY.
    package var fcmStreams: Int
    /// How many distinct provider tokens may follow the first one on a connection within `providerTokenWindow`.
    package var providerTokenUpdates: Int
    /// Seconds in which provider tokens of a connection are counted.
    package var providerTokenWindow: Double
    /// Seconds that an OAuth access token is good for; what FCM and WNS tell in `expires_in`.
    package var accessTokenLifetime: Int
    /// Answer with `apns-unique-id`, as Apple's development service does.
    package var sandbox: Bool
    /// How many received pushes are kept; the counts are of all.
    package var keepReceived: Int
    /// Event loop threads.
    package var threads: Int

    package init(
        ports: Ports = Ports(),
        folder: String? = nil,
        bundleIDs: [String] = ["com.example.pushline"],
        apnsInitialStreams: Int = 1,
        apnsStreams: Int = 1000,
        fcmStreams: Int = 100,
        providerTokenUpdates: Int = 1,
        providerTokenWindow: Double = 1200,
        accessTokenLifetime: Int = 3599,
        sandbox: Bool = false,
        keepReceived: Int = 200_000,
        threads: Int = 2
    ) {
        self.ports = ports
        self.folder = folder
        self.bundleIDs = bundleIDs
        self.apnsInitialStreams = apnsInitialStreams
        self.apnsStreams = apnsStreams
        self.fcmStreams = fcmStreams
        self.providerTokenUpdates = providerTokenUpdates
        self.providerTokenWindow = providerTokenWindow
        self.accessTokenLifetime = accessTokenLifetime
        self.sandbox = sandbox
        self.keepReceived = keepReceived
        self.threads = threads
    }
}

/// The addresses of a simulator that runs; none ends with a slash.
package struct SimulatorURLs: Sendable, Codable, Equatable {
    /// `https://127.0.0.1:…`, for `POST /3/device/<token>`.
    package var apns: String
    /// `https://127.0.0.1:…`, for `POST /v1/projects/<project>/messages:send`.
    package var fcm: String
    /// FCM's token endpoint, the `token_uri` of the service account.
    package var fcmToken: String
    /// `https://127.0.0.1:…`, WNS' own address.
    package var wns: String
    /// How every channel URI begins; anything may follow.
    package var wnsChannel: String
    /// WNS' token endpoint of the newer generation (Entra ID).
    package var wnsToken: String
    /// WNS' token endpoint of the older generation (Store).
    package var wnsStoreToken: String
    /// `http://127.0.0.1:…`, for `/received`, `/counts`, `/faults`, `/reset`, `/healthz`.
    package var control: String

    init(apns: Int, fcm: Int, wns: Int, control: Int) {
        self.apns = "https://127.0.0.1:\(apns)"
        self.fcm = "https://127.0.0.1:\(fcm)"
        self.fcmToken = "https://127.0.0.1:\(fcm)/token"
        self.wns = "https://127.0.0.1:\(wns)"
        self.wnsChannel = "https://127.0.0.1:\(wns)/wns/"
        self.wnsToken = "https://127.0.0.1:\(wns)/simulator/oauth2/v2.0/token"
        self.wnsStoreToken = "https://127.0.0.1:\(wns)/accesstoken.srf"
        self.control = "http://127.0.0.1:\(control)"
    }
}

/// What goes wrong in the simulator itself, not in a request to it.
package struct SimulatorError: Error, CustomStringConvertible {
    package var description: String

    init(_ description: String) {
        self.description = description
    }
}
