/// An app's declaration for a push service: a section of its file, and a member of its stored form, under the service's
/// name.
///
/// It holds paths of secrets, never secrets.
package protocol ServiceCredentials: Codable, Sendable, Equatable {
    /// The service that it is for.
    static var service: PushService { get }
    /// The section's keys.
    static var keys: [String] { get }
    /// The most devices to send to in a second, over all jobs and workers; nil = as fast as it goes.
    var devicesPerSecond: Int? { get }
    /// The equivalent section, defaults included; nil = the key is absent.
    var settings: KeyValuePairs<String, Setting?> { get }

    /// Reads the section.
    ///
    /// - Throws: The error of `section`.
    init(_ section: some SettingsSection) throws
}

extension ServiceCredentials {
    /// Whether both are of the same service and equal.
    package func isEqual(to other: any ServiceCredentials) -> Bool { other as? Self == self }
}

/// A value in a declaration's section.
package enum Setting: Sendable, Equatable {
    case text(String)
    case number(Int)
    case list([String])
}

/// A section of a declaration, read key by key; nil where a key is not there.
///
/// Each function throws where the value is of another form.
package protocol SettingsSection {
    func text(_ key: String) throws -> String?
    func texts(_ key: String) throws -> [String]
    /// The absolute path of the file that is named under that key.
    func file(_ key: String) throws -> String?
    /// The https address under that key: credentials go there.
    func address(_ key: String) throws -> String?
    /// The beginning of the day under that key, in UTC.
    func date(_ key: String) throws -> Timestamp?
    /// The value of `devices_per_second`.
    func devicesPerSecond() throws -> Int?
    /// The error for that key.
    func error(_ key: String, _ reason: String) -> any Error
}

extension SettingsSection {
    /// A value that must be present.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - read: A function that reads a key.
    /// - Returns: The value.
    /// - Throws: The error of `read`, and an error without a value.
    func required(_ key: String, _ read: (String) throws -> String?) throws -> String {
        guard let value = try read(key) else { throw self.error(key, "is missing") }
        return value
    }
}

/// The credentials that an app declares: of each of its services the default one, and further ones by name.
package struct DeclaredCredentials: Codable, Sendable, Equatable {
    private struct Key: Hashable {
        let service: PushService
        let name: CredentialName
    }

    private var all: [Key: any ServiceCredentials] = [:]

    package init() {}

    /// A service's default one.
    package subscript(service: PushService) -> (any ServiceCredentials)? {
        get { self[service, .default] }
        set { self[service, .default] = newValue }
    }

    package subscript(service: PushService, name: CredentialName) -> (any ServiceCredentials)? {
        get { self.all[Key(service: service, name: name)] }
        set { self.all[Key(service: service, name: name)] = newValue }
    }

    /// The names of a service's credentials, the default one first.
    package func names(of service: PushService) -> [CredentialName] {
        self.all.keys.filter { $0.service == service }.map(\.name)
            .sorted { ($0 == .default ? 0 : 1, $0) < ($1 == .default ? 0 : 1, $1) }
    }

    /// Those of one form, the default one first.
    package func all<Credentials: ServiceCredentials>(_ form: Credentials.Type) -> [Credentials] {
        self.names(of: form.service).compactMap { self[form.service, $0] as? Credentials }
    }

    /// The default one of a form.
    subscript<Credentials: ServiceCredentials>(_ form: Credentials.Type) -> Credentials? {
        get { self[form.service] as? Credentials }
        set { self[form.service] = newValue }
    }

    package static func == (left: DeclaredCredentials, right: DeclaredCredentials) -> Bool {
        left.all.count == right.all.count
            && left.all.allSatisfy { key, credentials in right.all[key]?.isEqual(to: credentials) == true }
    }

    /// A member's name: that of a service, of a credential, or ``further``.
    private struct Member: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(_ name: String) { self.stringValue = name }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }

        /// The member that has the named ones, by service and name.
        static let further = Member("credentials")
    }

    /// Reads the members of services, and ignores others: the stored form has the app's own members beside them.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Member.self)
        func read<Credentials: ServiceCredentials>(_ form: Credentials.Type) throws {
            let member = Member(form.service.rawValue)
            self[form] = try container.decodeIfPresent(form, forKey: member)
            guard container.contains(.further) else { return }
            let named = try container.nestedContainer(keyedBy: Member.self, forKey: .further)
                .decodeIfPresent([String: Credentials].self, forKey: member)
            for (name, credentials) in named ?? [:] {
                self[form.service, try CredentialName(name)] = credentials
            }
        }
        for service in PushService.allCases {
            if let form = service.descriptor.credentials { try read(form) }
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Member.self)
        for (key, credentials) in self.all where key.name == .default {
            try container.encode(credentials, forKey: Member(key.service.rawValue))
        }
        let named = self.all.filter { $0.key.name != .default }
        guard !named.isEmpty else { return }
        var further = container.nestedContainer(keyedBy: Member.self, forKey: .further)
        for service in Set(named.keys.map(\.service)).sorted() {
            var ofService = further.nestedContainer(keyedBy: Member.self, forKey: Member(service.rawValue))
            for (key, credentials) in named where key.service == service {
                try ofService.encode(credentials, forKey: Member(key.name.name))
            }
        }
    }
}
