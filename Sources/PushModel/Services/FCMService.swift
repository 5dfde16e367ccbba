extension PushService.Descriptor {
    /// Firebase Cloud Messaging, HTTP v1.
    ///
    /// Older apps call it `gcm`.
    static let fcm = PushService.Descriptor(
        title: "FCM",
        otherNames: ["gcm"],
        kinds: [.message],
        handle: PushService.HandleForm(
            pattern: "^(fid:[A-Za-z0-9_-]{22}|(?!fid:)[!-~]+)$",
            normalise: { text, _ throws(InvalidValue) in try FCMInstallation.normalise(text) }
        ),
        validatesDryRuns: true,
        credentials: AppSpec.FCM.self
    )
}

/// Firebase installation ids as handles of FCM: the `fid` of a message, where a registration token is its `token`.
package enum FCMInstallation {
    /// Stands before an id in a handle.
    ///
    /// No token begins so: in one, the first colon follows an id.
    package static let prefix = "fid:"
    /// 17 bytes in Base64URL, less the last character.
    private static let length = 22

    fileprivate static func normalise(_ text: String) throws(InvalidValue) -> String {
        guard text.hasPrefix(Self.prefix) else {
            return try PushService.HandleForm.visible(text, "an FCM token")
        }
        let id = text.utf8.dropFirst(Self.prefix.utf8.count)
        let isPlain = id.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        guard isPlain, id.count == Self.length else {
            throw InvalidValue(
                "a Firebase installation id is fid: and \(Self.length) letters, digits, hyphens or underscores"
            )
        }
        return text
    }
}

extension NativePayload.Kind {
    /// A `message` of FCM without its target.
    package static let message = NativePayload.Kind(.fcm, 1, "message", maximumPayload: 4096)
}

extension AppSpec {
    /// Credentials for FCM.
    package var fcm: FCM? {
        get { self.credentials[FCM.self] }
        set { self.credentials[FCM.self] = newValue }
    }

    /// A service account for FCM HTTP v1.
    package struct FCM: ServiceCredentials {
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
}

extension AppSpec.FCM {
    package static var service: PushService { .fcm }
    package static let keys = ["service_account_file", "endpoint", "trust_file", "devices_per_second"]

    package init(_ section: some SettingsSection) throws {
        self.init(
            serviceAccountFile: try section.required("service_account_file", section.file),
            endpoint: try section.address("endpoint") ?? Self.production,
            trustFile: try section.file("trust_file"),
            devicesPerSecond: try section.devicesPerSecond()
        )
    }

    package var settings: KeyValuePairs<String, Setting?> {
        [
            "service_account_file": .text(self.serviceAccountFile),
            "endpoint": .text(self.endpoint),
            "trust_file": self.trustFile.map(Setting.text),
            "devices_per_second": self.devicesPerSecond.map(Setting.number),
        ]
    }
}
