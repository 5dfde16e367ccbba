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
        package static var service: PushService { .web }
        package static let help = "Web Push: browsers, each with the push service of its maker"

        @Setting(
            required: .publicKey,
            """
            of the key pair (VAPID) that `pushline keys vapid secrets/vapid.pem` makes: the applicationServerKey of the pages that \
            subscribe; subscriptions are bound to it
            """,
            example: "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"
        )
        package var publicKey: String
        @Setting(required: .path, "its private key: EC P-256, PEM", example: "secrets/vapid.pem")
        package var privateKeyFile: String
        @Setting(
            required: .text.checked { subject throws(InvalidValue) in
                guard subject.hasPrefix("mailto:") || subject.hasPrefix("https://") else {
                    throw InvalidValue("must begin with mailto: or https://")
                }
            },
            "how push services reach you when something goes wrong: mailto: or https://",
            example: "\"mailto:operator@example.com\""
        )
        package var subject: String
        @Setting(
            .list(of: .text).checked { hosts throws(InvalidValue) in _ = try WebPushHosts(hosts) },
            """
            the hosts that subscriptions may name; pushes go nowhere else; unless said those of the browsers: \
            \(WebPushHosts.browsers.joined(separator: ", "))
            """,
            example: "[\"push.example.com\", \"*.push.example.com\", \"127.0.0.1:8443\"]"
        )
        package var endpointHosts: [String] = []
        @Setting(
            .list(of: .text).checked { networks throws(InvalidValue) in
                guard let bad = networks.first(where: { IPNetwork($0) == nil }) else { return }
                throw InvalidValue("\"\(bad)\" is neither an address nor a network such as 10.0.0.0/8")
            },
            "addresses and networks outside the internet, and may be connected to all the same; for simulators",
            example: "[\"127.0.0.1\", \"10.0.0.0/8\"]"
        )
        package var privateNetworks: [String] = []
        @Setting(
            .list(of: .text).checked { places throws(InvalidValue) in _ = try ConnectTo(places) },
            """
            where connections to some of the hosts lead, whatever their names say, for a simulator that stands in for a browser's service; \
            its certificate must be trusted (trust_file), and the address on the internet or in private_networks
            """,
            example: "[\"fcm.googleapis.com=127.0.0.1:8443\"]"
        )
        package var connectTo: [String] = []
        @Setting(.path, ServiceWords.trustFile, example: "secrets/simulator.pem") package var trustFile: String? = nil
        @Setting(.integer(ServiceWords.rates), ServiceWords.rate, example: "5000")
        package var devicesPerSecond: Int? = nil

        package init() {}
    }
}

extension SettingKind where Value == String {
    /// 65 bytes in base64url, as pages give it to `subscribe`.
    fileprivate static var publicKey: Self {
        .text.checked { key throws(InvalidValue) in
            guard WebPushSubscription.key(key) != nil else {
                throw InvalidValue("must be the public key that `pushline keys vapid` prints")
            }
        }
    }
}
