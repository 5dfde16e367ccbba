extension PushService.Descriptor {
    /// Windows Push Notification Services.
    static let wns = PushService.Descriptor(
        title: "WNS",
        kinds: NativePayload.Kind.allOfWNS,
        handle: PushService.HandleForm(
            pattern: #"^https://[a-z0-9-]+\.notify\.windows\.com/[A-Za-z0-9?=&%._~-]*$"#,
            normalise: ChannelURI(
                schemes: ["https://"],
                domains: [".notify.windows.com"],
                refusal: "a WNS channel is an https address under notify.windows.com"
            ).normalise,
            prefixes: { $0.credentials.all(AppSpec.WNS.self).flatMap(\.channelPrefixes) }
        ),
        deviceChoosesHost: true,
        weight: 8,
        credentials: AppSpec.WNS.self
    )

    /// Microsoft's service for Windows Phone, switched off in 2018: it can be registered, never sent to.
    static let mpns = PushService.Descriptor(
        title: "MPNS",
        isInService: false,
        kinds: [],
        handle: PushService.HandleForm(
            pattern: #"^https?://[a-z0-9-]+\.notify\.(live\.net|windows\.com)/[A-Za-z0-9?=&%._~-]*$"#,
            normalise: ChannelURI(
                schemes: ["https://", "http://"],
                domains: [".notify.live.net", ".notify.windows.com"],
                refusal: "an MPNS channel is an address under notify.live.net or notify.windows.com"
            ).normalise,
            prefixes: { $0.credentials.all(AppSpec.WNS.self).flatMap(\.channelPrefixes) }
        ),
        deviceChoosesHost: true,
        credentials: nil
    )
}

extension NativePayload.Kind {
    /// A message that Windows shows.
    package static let toast = ofWNS(1, "toast")
    /// A tile of the start menu.
    package static let tile = ofWNS(2, "tile")
    /// A badge on the app's icon.
    package static let badge = ofWNS(3, "badge")
    /// Bytes for the app.
    package static let raw = ofWNS(4, "raw")

    /// All kinds of WNS: the types that it has, without `wns/`.
    package static let allOfWNS = [toast, tile, badge, raw]

    private static func ofWNS(_ number: UInt8, _ name: String) -> NativePayload.Kind {
        NativePayload.Kind(.wns, number, name, maximumPayload: 5000)
    }
}

/// The form of Microsoft's channels: a forged one would be sent the app's bearer token.
private struct ChannelURI: Sendable {
    let schemes: [String]
    let domains: [String]
    let refusal: String

    func normalise(_ text: String, prefixes: [String]) throws(InvalidValue) -> String {
        let visible = try PushService.HandleForm.visible(text, "a channel URI")
        // Some URL parsers end the host at a backslash and others do not: no channel has one.
        guard !visible.contains("\\") else { throw InvalidValue("a channel URI has no backslash") }
        if prefixes.contains(where: { Self.begins(visible, with: $0) }) { return visible }
        // The authority is between the scheme and the first of / ? #; user information and a port are not allowed.
        for start in self.schemes where visible.lowercased().hasPrefix(start) {
            let rest = visible.dropFirst(start.count)
            let host = rest.prefix { !"/?#".contains($0) }.lowercased()
            let isName = !host.hasPrefix(".") && !host.contains("..") && host.utf8.allSatisfy(Self.isHostByte)
            if isName, self.domains.contains(where: { host.hasSuffix($0) }) { return visible }
        }
        throw InvalidValue(self.refusal)
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "."):
            true
        default: false
        }
    }

    /// Whether a channel begins with an allowed prefix.
    ///
    /// A prefix without a path must match the whole host: `https://127.0.0.1:84` allows neither port 8443 nor
    /// `https://127.0.0.1:84@elsewhere`.
    private static func begins(_ channel: String, with prefix: String) -> Bool {
        guard !prefix.isEmpty, channel.hasPrefix(prefix) else { return false }
        let hasPath = prefix.split(separator: "://", maxSplits: 1).last?.contains("/") == true
        return hasPath || channel.dropFirst(prefix.count).first.map { "/?#".contains($0) } != false
    }
}

extension AppSpec {
    /// Credentials for WNS.
    package var wns: WNS? {
        get { self.credentials[WNS.self] }
        set { self.credentials[WNS.self] = newValue }
    }

    /// Client credentials for WNS.
    package struct WNS: ServiceCredentials {
        package static var service: PushService { .wns }
        package static let help = "Windows Push Notification Services"

        @Setting(
            required: .text,
            "the application (client) id, or the package SID (ms-app://…) for the older Store token service",
            example: "00000000-0000-0000-0000-000000000000"
        )
        package var clientID: String
        @Setting(
            required: .path,
            "file that holds the client secret, and nothing else",
            example: "secrets/wns-client-secret"
        )
        package var clientSecretFile: String
        // The file does not contain it.
        @Setting(
            .day,
            "the day on which the secret ends, as Entra shows it: it is warned of a month before",
            named: "expires",
            example: "2027-01-31"
        )
        package var secretEnds: Timestamp? = nil
        @Setting(
            required: .address,
            "the token service",
            example: "\"https://login.microsoftonline.com/00000000-0000-0000-0000-000000000000/oauth2/v2.0/token\""
        )
        package var tokenURL: String
        @Setting(.text, "the scope of the tokens") package var scope = "https://wns.windows.com/.default"
        @Setting(
            .list(of: .text).checked { prefixes throws(InvalidValue) in
                guard let bad = prefixes.first(where: { !$0.hasPrefix("https://") }) else { return }
                throw InvalidValue("\"\(bad)\" must begin with https://")
            },
            "beginnings of channel URIs that are taken besides https hosts under notify.windows.com; for simulators",
            example: "[\"https://127.0.0.1:9443/\"]"
        )
        package var channelPrefixes: [String] = []
        @Setting(.path, ServiceWords.trustFile, example: "secrets/simulator.pem") package var trustFile: String? = nil
        @Setting(.integer(ServiceWords.rates), ServiceWords.rate, example: "5000")
        package var devicesPerSecond: Int? = nil

        package init() {}
    }
}
