package import PushModel

/// A platform as the wire of a hub names it.
package enum WirePlatform: String, CaseIterable, Sendable {
    case apple
    case fcmV1
    case gcm
    case windows
    case windowsPhone
    case adm
    case baidu
    case browser
    case xiaomi

    /// The push service that serves it; nil = none does.
    package var service: PushService? {
        switch self {
        case .apple: .apns
        case .fcmV1, .gcm: .fcm
        case .windows: .wns
        case .windowsPhone: .mpns
        case .browser: .web
        case .adm, .baidu, .xiaomi: nil
        }
    }

    /// The platform under which registrations of a service are shown.
    package init?(_ service: PushService) {
        guard let found = WirePlatform.allCases.first(where: { $0.service == service }) else { return nil }
        self = found
    }

    /// The platform under which a registration is shown: that of its client, if it is one of the service.
    package init?(_ service: PushService, written name: String?) {
        if let own = name.flatMap(WirePlatform.init(installationName:)), own.service == service {
            self = own
        } else {
            self.init(service)
        }
    }

    /// What is kept of the platform that a client names: nothing where the registration is shown under that name anyway.
    package var written: String? {
        self.service.flatMap(WirePlatform.init) == self ? nil : self.installationName
    }

    /// Reads `ServiceBusNotification-Format`, in any letter case.
    package init?(format: String) {
        let name = format.lowercased()
        guard let found = WirePlatform.allCases.first(where: { $0.formatName == name }) else { return nil }
        self = found
    }

    /// Reads the member `platform` of an installation, in any letter case.
    package init?(installationName: String) {
        let name = installationName.lowercased()
        guard let found = WirePlatform.allCases.first(where: { $0.installationName.lowercased() == name }) else {
            return nil
        }
        self = found
    }

    /// Its name in an installation.
    package var installationName: String {
        switch self {
        case .apple: "apns"
        case .fcmV1: "fcmv1"
        case .windows: "wns"
        case .windowsPhone: "mpns"
        case .gcm, .adm, .baidu, .browser, .xiaomi: self.rawValue
        }
    }

    /// How the names of its descriptions begin: `Apple` in `AppleRegistrationDescription`.
    package var descriptionName: String {
        switch self {
        case .apple: "Apple"
        case .fcmV1: "FcmV1"
        case .gcm: "Gcm"
        case .windows: "Windows"
        case .windowsPhone: "Mpns"
        case .adm: "Adm"
        case .baidu: "Baidu"
        case .browser: "Browser"
        case .xiaomi: "Xiaomi"
        }
    }

    /// The elements of a handle, in their order.
    package var handleElements: [String] {
        switch self {
        case .apple: ["DeviceToken"]
        case .fcmV1: ["FcmV1RegistrationId"]
        case .gcm: ["GcmRegistrationId"]
        case .windows, .windowsPhone: ["ChannelUri"]
        case .adm: ["AdmRegistrationId"]
        case .baidu: ["BaiduUserId", "BaiduChannelId"]
        case .browser: ["Endpoint", "P256DH", "Auth"]
        case .xiaomi: ["XiaomiRegistrationId"]
        }
    }

    /// Other names that clients use for elements of a handle.
    var otherElements: [String: String] {
        switch self {
        case .gcm: ["FcmRegistrationId": "GcmRegistrationId"]
        case .baidu: ["UserId": "BaiduUserId", "ChannelId": "BaiduChannelId"]
        default: [:]
        }
    }

    /// The element of a template's headers; nil = it has none.
    var headersElement: (list: String, item: String)? {
        switch self {
        case .apple: ("ApnsHeaders", "ApnsHeader")
        case .windows: ("WnsHeaders", "WnsHeader")
        case .windowsPhone: ("MpnsHeaders", "MpnsHeader")
        case .fcmV1, .gcm, .adm, .baidu, .browser, .xiaomi: nil
        }
    }

    /// The element of its counts in telemetry.
    package var countsElement: String {
        switch self {
        case .apple: "ApnsOutcomeCounts"
        case .fcmV1: "FcmV1OutcomeCounts"
        case .gcm: "GcmOutcomeCounts"
        case .windows: "WnsOutcomeCounts"
        case .windowsPhone: "MpnsOutcomeCounts"
        case .adm: "AdmOutcomeCounts"
        case .baidu: "BaiduOutcomeCounts"
        case .browser: "BrowserOutcomeCounts"
        case .xiaomi: "XiaomiOutcomeCounts"
        }
    }

    /// Its name in `ServiceBusNotification-Format`, and in telemetry's list of platforms.
    package var formatName: String { self.rawValue.lowercased() }
}
