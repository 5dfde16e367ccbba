import Settings

/// The addresses of a simulator, its accepted credentials, and the strictness of its limits.
package struct SimulatorConfiguration: Sendable {
    /// Ports on 127.0.0.1 by their names in ``SimulatorURLs``, such as `apns`; any free one for a name that has none here.
    package var ports: [String: Int]
    /// The control address' port; 0 = any free one.
    package var controlPort: Int
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
    /// The lifetime of an OAuth access token in seconds: `expires_in` of FCM and WNS.
    package var accessTokenLifetime: Int
    /// Answer with `apns-unique-id`, as Apple's development service does.
    package var sandbox: Bool
    /// Maximum number of received pushes kept; counts include all.
    package var keepReceived: Int
    /// Event loop threads.
    package var threads: Int

    package init(
        ports: [String: Int] = [:],
        controlPort: Int = SimulatorSettings().controlPort,
        folder: String? = nil,
        bundleIDs: [String] = ["com.example.pushline"],
        apnsInitialStreams: Int = 1,
        apnsStreams: Int = 1000,
        fcmStreams: Int = 100,
        providerTokenUpdates: Int = 1,
        providerTokenWindow: Double = 1200,
        accessTokenLifetime: Int = 3599,
        sandbox: Bool = false,
        keepReceived: Int = SimulatorSettings().keep,
        threads: Int = 2
    ) {
        self.ports = ports
        self.controlPort = controlPort
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

extension SimulatorConfiguration {
    /// Reads ports of the form `apns=8443,apnsChannels=8444`.
    ///
    /// - Throws: ``SimulatorError`` with the fault.
    package static func ports(_ text: String) throws(SimulatorError) -> [String: Int] {
        var ports: [String: Int] = [:]
        for pair in text.split(separator: ",") {
            let parts = pair.split(separator: "=", omittingEmptySubsequences: false)
            guard parts.count == 2, SimulatedService.portNames.contains(String(parts[0])), let port = Int(parts[1]),
                (0...65_535).contains(port)
            else {
                let names = SimulatedService.portNames.joined(separator: ", ")
                throw SimulatorError("\"\(pair)\" is not one of \(names), = and a port, such as apns=8443")
            }
            ports[String(parts[0])] = port
        }
        return ports
    }
}

/// An error of the simulator itself, not of a request to it.
package struct SimulatorError: Error, CustomStringConvertible {
    package var description: String

    init(_ description: String) {
        self.description = description
    }
}
