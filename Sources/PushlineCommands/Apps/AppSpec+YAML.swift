import Foundation
import PushModel

extension AppSpec {
    /// The keys of an app in the file.
    static let keys = [
        "hub", "authentication", "users", "reserved_tags", "recording", "requests_per_second",
        "registration_lifetime_days", "registrations_per_user", "apns", "fcm", "wns", "rich", "contents",
    ]

    /// - Parameters:
    ///   - section: The app in the file.
    ///   - folder: What the paths of files are relative to.
    /// - Throws: ``AppsFileError``.
    init(_ section: YAMLSection, folder: URL) throws {
        self.init()
        self.hub = try section.choice("hub", of: HubKind.self) ?? self.hub
        self.authentication = try section.choice("authentication", of: Authentication.self) ?? self.authentication
        self.users = try section.choice("users", of: Users.self) ?? self.users
        self.reservedTags = try section.texts("reserved_tags")
        for tag in self.reservedTags {
            do { _ = try Tag(tag, self.users) } catch {
                throw section.fault("reserved_tags", "\"\(tag)\" can begin no tag: \(error.reason)")
            }
        }
        self.recording = try section.choice("recording", of: Recording.self) ?? self.recording
        self.requestsPerSecond = try section.integer("requests_per_second", in: 1...1_000_000)
        self.registrationLifetimeDays = try section.integer("registration_lifetime_days", in: 1...36_500)
        self.registrationsPerUser = try section.integer("registrations_per_user", in: 1...10_000)
        self.apns = try section.section("apns", known: APNs.keys).map { try APNs($0, folder: folder) }
        self.fcm = try section.section("fcm", known: FCM.keys).map { try FCM($0, folder: folder) }
        self.wns = try section.section("wns", known: WNS.keys).map { try WNS($0, folder: folder) }
        self.richDefault =
            try section.section("rich", known: RichDefault.keys).map(RichDefault.init) ?? self.richDefault
        self.contents = try section.section("contents", known: Contents.keys).map(Contents.init)
    }
}

extension AppSpec.APNs {
    static let keys = ["key_file", "key_id", "team_id", "topic", "endpoint", "trust_file", "devices_per_second"]

    init(_ section: YAMLSection, folder: URL) throws {
        self.init(
            keyFile: try section.requiredFile("key_file", in: folder),
            keyID: try section.requiredText("key_id"),
            teamID: try section.requiredText("team_id"),
            topic: try section.requiredText("topic"),
            endpoint: try section.address("endpoint") ?? Self.production,
            trustFile: try section.file("trust_file", in: folder),
            devicesPerSecond: try section.devicesPerSecond()
        )
    }
}

extension AppSpec.FCM {
    static let keys = ["service_account_file", "endpoint", "trust_file", "devices_per_second"]

    init(_ section: YAMLSection, folder: URL) throws {
        self.init(
            serviceAccountFile: try section.requiredFile("service_account_file", in: folder),
            endpoint: try section.address("endpoint") ?? Self.production,
            trustFile: try section.file("trust_file", in: folder),
            devicesPerSecond: try section.devicesPerSecond()
        )
    }
}

extension AppSpec.WNS {
    static let keys = [
        "client_id", "client_secret_file", "expires", "token_url", "scope", "channel_prefixes", "trust_file",
        "devices_per_second",
    ]

    init(_ section: YAMLSection, folder: URL) throws {
        guard let tokenURL = try section.address("token_url") else { throw section.fault("token_url", "is missing") }
        let prefixes = try section.texts("channel_prefixes")
        for prefix in prefixes where !prefix.hasPrefix("https://") {
            throw section.fault("channel_prefixes", "\"\(prefix)\" must begin with https://")
        }
        self.init(
            clientID: try section.requiredText("client_id"),
            clientSecretFile: try section.requiredFile("client_secret_file", in: folder),
            secretEnds: try section.date("expires"),
            tokenURL: tokenURL,
            scope: try section.text("scope") ?? Self.scope,
            channelPrefixes: prefixes,
            trustFile: try section.file("trust_file", in: folder),
            devicesPerSecond: try section.devicesPerSecond()
        )
    }
}

extension AppSpec.RichDefault {
    static let keys = ["message", "rich_type", "content", "secure", "per_account", "per_app"]

    init(_ section: YAMLSection) throws {
        self.init()
        self.message = try section.text("message") ?? self.message
        self.richType = try section.text("rich_type") ?? self.richType
        self.content = try section.text("content")
        self.isSecure = try section.boolean("secure") ?? self.isSecure
        self.perAccount = try section.integer("per_account", in: 1...1_000_000) ?? self.perAccount
        self.perApp = try section.integer("per_app", in: 1...100_000_000) ?? self.perApp
    }
}

extension AppSpec.Contents {
    static let keys = ["account_bytes", "app_bytes"]

    init(_ section: YAMLSection) throws {
        self.init()
        self.accountBytes = try section.integer("account_bytes", in: 0...1 << 50) ?? self.accountBytes
        self.appBytes = try section.integer("app_bytes", in: 0...1 << 50) ?? self.appBytes
    }
}

extension YAMLSection {
    fileprivate func devicesPerSecond() throws -> Int? {
        try self.integer("devices_per_second", in: 1...1_000_000)
    }

    /// The absolute path of the file that is named under that key.
    fileprivate func file(_ key: String, in folder: URL) throws -> String? {
        guard let path = try self.text(key) else { return nil }
        return URL(filePath: path, relativeTo: folder).standardizedFileURL.path(percentEncoded: false)
    }

    fileprivate func requiredFile(_ key: String, in folder: URL) throws -> String {
        guard let path = try self.file(key, in: folder) else { throw self.fault(key, "is missing") }
        return path
    }

    /// The https address under that key: credentials go there.
    fileprivate func address(_ key: String) throws -> String? {
        guard let text = try self.text(key) else { return nil }
        guard let url = URL(string: text), url.scheme == "https", url.host(percentEncoded: false)?.isEmpty == false
        else {
            throw self.fault(key, "must be an https address")
        }
        return text
    }
}
