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
        package static var service: PushService { .fcm }
        package static let help = "Firebase Cloud Messaging, HTTP v1"

        @Setting(
            required: .path,
            "the service account's JSON file, as the Firebase console gives it; it names project, key and token address",
            example: "secrets/service-account.json"
        )
        package var serviceAccountFile: String
        @Setting(.address, "where messages are sent") package var endpoint = "https://fcm.googleapis.com"
        @Setting(.path, ServiceWords.trustFile, example: "secrets/simulator.pem") package var trustFile: String? = nil
        @Setting(.integer(ServiceWords.rates), ServiceWords.rate, example: "5000")
        package var devicesPerSecond: Int? = nil

        package init() {}
    }
}
