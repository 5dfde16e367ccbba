import Foundation
import PushModel

extension AppSpec {
    /// The keys of an app in the file.
    static let keys =
        [
            "hub", "authentication", "users", "reserved_tags", "recording", "requests_per_second",
            "registration_lifetime_days", "registrations_per_user",
        ] + PushService.inService.map(\.rawValue) + ["rich", "contents"]

    /// - Parameters:
    ///   - section: The app in the file.
    ///   - folder: The folder that relative paths start from.
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
        for service in PushService.inService {
            guard let form = service.descriptor.credentials,
                let found = try section.section(service.rawValue, known: form.keys)
            else { continue }
            self.credentials[service] = try form.init(CredentialSection(section: found, folder: folder))
        }
        self.richDefault =
            try section.section("rich", known: RichDefault.keys).map(RichDefault.init) ?? self.richDefault
        self.contents = try section.section("contents", known: Contents.keys).map(Contents.init)
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

/// A push service's section of an app.
private struct CredentialSection: SettingsSection {
    let section: YAMLSection
    /// The folder that relative paths start from.
    let folder: URL

    func text(_ key: String) throws -> String? { try self.section.text(key) }
    func texts(_ key: String) throws -> [String] { try self.section.texts(key) }
    func date(_ key: String) throws -> Timestamp? { try self.section.date(key) }

    func file(_ key: String) throws -> String? {
        guard let path = try self.section.text(key) else { return nil }
        return URL(filePath: path, relativeTo: self.folder).standardizedFileURL.path(percentEncoded: false)
    }

    func address(_ key: String) throws -> String? {
        guard let text = try self.section.text(key) else { return nil }
        guard let url = URL(string: text), url.scheme == "https", url.host(percentEncoded: false)?.isEmpty == false
        else { throw self.error(key, "must be an https address") }
        return text
    }

    func devicesPerSecond() throws -> Int? { try self.section.integer("devices_per_second", in: 1...1_000_000) }

    func error(_ key: String, _ reason: String) -> any Error { self.section.fault(key, reason) }
}
