import Foundation
import PushModel

extension AppSpec {
    /// The keys of an app in the file.
    static let keys =
        [
            "authentication", "users", "reserved_tags", "recording", "requests_per_second",
            "registration_lifetime_days", "registrations_per_user", "tags_per_registration", "hub", "tokens", "api",
        ] + PushService.inService.map(\.rawValue) + ["rich", "contents"]

    /// - Parameters:
    ///   - section: The app in the file.
    ///   - folder: The folder that relative paths start from.
    /// - Throws: ``AppsFileError``.
    init(_ section: YAMLSection, folder: URL) throws {
        self.init()
        self.authentication = try section.choice("authentication", of: Authentication.self) ?? self.authentication
        self.tokens = try section.section("tokens", known: TokenSettings.keys).map {
            try TokenSettings(CredentialSection(section: $0, folder: folder))
        }
        guard self.tokens == nil || self.authentication == .accounts else {
            throw section.fault("tokens", "needs authentication: accounts")
        }
        // The issuer's names may differ by letter case alone.
        self.users =
            try section.choice("users", of: Users.self) ?? (self.tokens == nil ? self.users : .exact)
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
        self.tagsPerRegistration =
            try section.integer("tags_per_registration", in: 1...Self.maximumTagsPerRegistration)
        for service in PushService.inService {
            guard let form = service.descriptor.credentials,
                let found = try section.section(service.rawValue, known: form.keys + [Self.furtherCredentials])
            else { continue }
            self.credentials[service] = try form.init(CredentialSection(section: found, folder: folder))
            for (name, further) in try Self.further(in: found, form) {
                self.credentials[service, name] = try form.init(CredentialSection(section: further, folder: folder))
            }
        }
        self.azureHub = try Self.azureHub(section, folder: folder)
        // Azure compares tags without letter case, those of users too: Bob would be reached as bob.
        guard self.azureHub == nil || self.users == .folded else {
            throw section.fault(
                "users",
                "must be folded beside hub.azure, also where there are tokens: say users: folded"
            )
        }
        if self.azureHub != nil, let service = PushService.inService.first(where: { self.credentials[$0] != nil }) {
            throw section.fault(service.rawValue, "is of no use beside hub.azure: the hub has the credentials")
        }
        self.richDefault =
            try section.section("rich", known: RichDefault.keys).map(RichDefault.init) ?? self.richDefault
        self.contents = try section.section("contents", known: Contents.keys).map(Contents.init)
        self.origins = try section.section("api", known: Self.apiKeys).map(Self.origins) ?? []
    }

    /// Reads `hub`: `embedded`, or a section `azure`.
    private static func azureHub(_ section: YAMLSection, folder: URL) throws -> AzureHub? {
        if let word = try? section.text("hub") {
            guard word == "embedded" else { throw section.fault("hub", "must be embedded, or a section azure") }
            return nil
        }
        guard let hub = try section.section("hub", known: ["azure"]) else { return nil }
        guard let azure = try hub.section("azure", known: AzureHub.keys) else { throw hub.fault("azure", "is missing") }
        return try AzureHub(CredentialSection(section: azure, folder: folder))
    }

    /// The key, in a service's section, of its further credentials.
    static let furtherCredentials = "credentials"
    /// The most of them: each has connections of its own in each delivery worker.
    private static let mostCredentials = 20

    /// The further credentials of a service, by name.
    private static func further(
        in section: YAMLSection,
        _ form: any ServiceCredentials.Type
    ) throws -> [(CredentialName, YAMLSection)] {
        guard let all = try section.section(Self.furtherCredentials, known: nil) else { return [] }
        guard all.keys.count <= Self.mostCredentials else {
            throw section.fault(Self.furtherCredentials, "has more than \(Self.mostCredentials) credentials")
        }
        return try all.keys.compactMap { key in
            let name: CredentialName
            do throws(InvalidValue) { name = try CredentialName(key) } catch { throw all.fault(key, error.reason) }
            guard name != .default else {
                throw all.fault(key, "is the name of the one in the section itself; choose another")
            }
            return try all.section(key, known: form.keys).map { (name, $0) }
        }
    }

    /// The keys of the section `api`.
    static let apiKeys = ["origins"]

    private static func origins(_ section: YAMLSection) throws -> [WebOrigin] {
        try section.texts("origins").map { text in
            do throws(InvalidValue) { return try WebOrigin(text) } catch {
                throw section.fault("origins", "\"\(text)\": \(error.reason)")
            }
        }
    }
}

extension AppSpec.AzureHub {
    static let keys = ["connection_string_file", "name", "platforms", "trust_file"]

    fileprivate init(_ settings: CredentialSection) throws {
        guard let file = try settings.file("connection_string_file") else {
            throw settings.error("connection_string_file", "is missing")
        }
        self.init(
            connectionStringFile: file,
            name: try settings.section.requiredText("name"),
            trustFile: try settings.file("trust_file")
        )
        let platforms = try settings.texts("platforms").map { name in
            guard let pns = PushService(platformName: name), Self.offered.contains(pns) else {
                throw settings.error("platforms", "\"\(name)\" is none of \(PushService.list(Self.offered))")
            }
            return pns
        }
        if !platforms.isEmpty { self.platforms = Self.offered.filter(platforms.contains) }
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

extension TokenSettings {
    static let keys = [
        "issuer", "audience", "algorithms", "jwks_file", "jwks_url", "trust_file", "user_claim", "same_users",
    ]

    fileprivate init(_ settings: CredentialSection) throws {
        let section = settings.section
        self.init(
            issuer: try section.requiredText("issuer"),
            audience: try section.requiredText("audience"),
            keySet: try Self.keySet(settings)
        )
        let algorithms = try section.texts("algorithms").map { name in
            guard let algorithm = Algorithm(rawValue: name) else {
                let known = Algorithm.allCases.map(\.rawValue).joined(separator: " and ")
                throw section.fault("algorithms", "\"\(name)\" is not taken; known are \(known)")
            }
            return algorithm
        }
        if !algorithms.isEmpty { self.algorithms = algorithms }
        self.userClaim = try section.text("user_claim") ?? self.userClaim
        self.sameUsers = try section.boolean("same_users") ?? self.sameUsers
    }

    private static func keySet(_ settings: CredentialSection) throws -> KeySetPlace {
        let trustFile = try settings.file("trust_file")
        switch (try settings.file("jwks_file"), try settings.address("jwks_url")) {
        case (let path?, nil):
            guard trustFile == nil else { throw settings.error("trust_file", "is for jwks_url alone") }
            return .file(path: path)
        case (nil, let url?): return .address(url: url, trustFile: trustFile)
        case (_?, _?): throw settings.error("jwks_url", "is there beside jwks_file: name one of them")
        case (nil, nil): throw settings.error("jwks_file", "is missing, and so is jwks_url: name one of them")
        }
    }
}

/// A section of an app with files and addresses.
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
