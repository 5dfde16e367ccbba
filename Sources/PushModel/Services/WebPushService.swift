extension PushService.Descriptor {
    /// Web Push (RFC 8030): browsers, each with the push service of its maker.
    static let web = PushService.Descriptor(
        title: "Web Push",
        kinds: [.webMessage],
        handle: PushService.HandleForm(
            pattern: "^eyJ[A-Za-z0-9_-]+$",
            normalise: { text, hosts throws(InvalidValue) in
                let subscription = try WebPushSubscription(handle: text)
                try WebPushHosts(hosts).check(subscription.endpoint)
                return subscription.handle
            },
            prefixes: { app in
                app.credentials.all(AppSpec.WebPush.self).flatMap {
                    $0.endpointHosts.isEmpty ? WebPushHosts.browsers : $0.endpointHosts
                }
            },
            lookup: { (try? WebPushSubscription(handle: $0))?.handle },
            identity: WebPushSubscription.identity
        ),
        deviceChoosesHost: true,
        weight: 8,
        credentials: AppSpec.WebPush.self
    )
}

extension NativePayload.Kind {
    /// A message for a page's service worker: 4,096 bytes less the encryption's own 103.
    package static let webMessage = NativePayload.Kind(.web, 1, "message", maximumPayload: 3993)
}

extension AppSpec {
    /// Credentials for Web Push.
    package var web: WebPush? {
        get { self.credentials[WebPush.self] }
        set { self.credentials[WebPush.self] = newValue }
    }

    /// The key pair by which push services know the app (VAPID, RFC 8292), and where it sends to.
    package struct WebPush: ServiceCredentials {
        /// The public key as pages give it to `subscribe`: 65 bytes in base64url.
        package var publicKey: String
        /// The file with the private key: EC P-256, PEM.
        package var privateKeyFile: String
        /// How a push service reaches the sender: `mailto:` or `https:`.
        package var subject: String
        /// The hosts of endpoints, such as `push.example.com`, `*.example.com` and `127.0.0.1:8443`; empty = those of the browsers.
        package var endpointHosts: [String]
        /// Networks that are no part of the internet and may be sent to all the same; for simulators.
        package var privateNetworks: [String]
        /// Where connections to some hosts lead, such as `push.example.com=127.0.0.1:8443`; for simulators.
        package var connectTo: [String]
        package var trustFile: String?
        /// The most devices to send to in a second; nil = as fast as it goes.
        package var devicesPerSecond: Int?

        package init(
            publicKey: String,
            privateKeyFile: String,
            subject: String,
            endpointHosts: [String] = [],
            privateNetworks: [String] = [],
            connectTo: [String] = [],
            trustFile: String? = nil,
            devicesPerSecond: Int? = nil
        ) {
            self.publicKey = publicKey
            self.privateKeyFile = privateKeyFile
            self.subject = subject
            self.endpointHosts = endpointHosts
            self.privateNetworks = privateNetworks
            self.connectTo = connectTo
            self.trustFile = trustFile
            self.devicesPerSecond = devicesPerSecond
        }
    }
}

extension AppSpec.WebPush {
    package static var service: PushService { .web }
    package static let keys = [
        "public_key", "private_key_file", "subject", "endpoint_hosts", "private_networks", "connect_to",
        "trust_file", "devices_per_second",
    ]

    package init(_ section: some SettingsSection) throws {
        let publicKey = try section.required("public_key", section.text)
        guard WebPushSubscription.key(publicKey) != nil else {
            throw section.error("public_key", "must be the public key that `pushline keys vapid` prints")
        }
        let subject = try section.required("subject", section.text)
        guard subject.hasPrefix("mailto:") || subject.hasPrefix("https://") else {
            throw section.error("subject", "must begin with mailto: or https://")
        }
        let hosts = try section.texts("endpoint_hosts")
        do { _ = try WebPushHosts(hosts) } catch { throw section.error("endpoint_hosts", "\(error)") }
        let networks = try section.texts("private_networks")
        for network in networks where IPNetwork(network) == nil {
            throw section.error(
                "private_networks",
                "\"\(network)\" is neither an address nor a network such as 10.0.0.0/8"
            )
        }
        let connectTo = try section.texts("connect_to")
        do { _ = try ConnectTo(connectTo) } catch { throw section.error("connect_to", "\(error)") }
        self.init(
            publicKey: publicKey,
            privateKeyFile: try section.required("private_key_file", section.file),
            subject: subject,
            endpointHosts: hosts,
            privateNetworks: networks,
            connectTo: connectTo,
            trustFile: try section.file("trust_file"),
            devicesPerSecond: try section.devicesPerSecond()
        )
    }

    package var settings: KeyValuePairs<String, Setting?> {
        [
            "public_key": .text(self.publicKey),
            "private_key_file": .text(self.privateKeyFile),
            "subject": .text(self.subject),
            "endpoint_hosts": .list(self.endpointHosts),
            "private_networks": .list(self.privateNetworks),
            "connect_to": .list(self.connectTo),
            "trust_file": self.trustFile.map(Setting.text),
            "devices_per_second": self.devicesPerSecond.map(Setting.number),
        ]
    }
}
