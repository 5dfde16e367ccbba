extension PushService.Descriptor {
    /// Apple Push Notification service.
    static let apns = PushService.Descriptor(
        title: "APNs",
        maximumPayload: 4096,
        handle: PushService.HandleForm(
            isHexadecimal: true,
            pattern: "^([0-9A-Fa-f]{2}){1,200}$",
            normalise: APNsToken.normalise
        ),
        credentials: AppSpec.APNs.self
    )
}

private enum APNsToken {
    static func normalise(_ text: String, _: [String]) throws(InvalidValue) -> String {
        if text.hasPrefix("{") {
            throw InvalidValue(
                "this is the printed form of a data object ({LENGTH=…,BYTES=…}), which iOS 13 and later give for "
                    + "NSData.description; send the token's bytes as hexadecimal digits"
            )
        }
        let lower = text.lowercased()
        let isHexadecimal = lower.utf8.allSatisfy { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
        }
        guard isHexadecimal, lower.utf8.count.isMultiple(of: 2), lower.utf8.count <= 400 else {
            throw InvalidValue(
                "an APNs token is an even number of hexadecimal digits (at most 400), without spaces or brackets"
            )
        }
        return lower
    }
}

extension AppSpec {
    /// Credentials for APNs.
    package var apns: APNs? {
        get { self.credentials[APNs.self] }
        set { self.credentials[APNs.self] = newValue }
    }

    /// Token-based credentials for APNs.
    package struct APNs: ServiceCredentials {
        /// The `.p8` file: an EC P-256 private key, PKCS#8 PEM.
        package var keyFile: String
        package var keyID: String
        package var teamID: String
        /// The app's bundle id.
        package var topic: String
        /// The endpoint; Apple's production service by default.
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
}

extension AppSpec.APNs {
    package static var service: PushService { .apns }
    package static let keys = [
        "key_file", "key_id", "team_id", "topic", "endpoint", "trust_file", "devices_per_second",
    ]

    package init(_ section: some SettingsSection) throws {
        self.init(
            keyFile: try section.required("key_file", section.file),
            keyID: try section.required("key_id", section.text),
            teamID: try section.required("team_id", section.text),
            topic: try section.required("topic", section.text),
            endpoint: try section.address("endpoint") ?? Self.production,
            trustFile: try section.file("trust_file"),
            devicesPerSecond: try section.devicesPerSecond()
        )
    }

    package var settings: KeyValuePairs<String, Setting?> {
        [
            "key_file": .text(self.keyFile),
            "key_id": .text(self.keyID),
            "team_id": .text(self.teamID),
            "topic": .text(self.topic),
            "endpoint": .text(self.endpoint),
            "trust_file": self.trustFile.map(Setting.text),
            "devices_per_second": self.devicesPerSecond.map(Setting.number),
        ]
    }
}
