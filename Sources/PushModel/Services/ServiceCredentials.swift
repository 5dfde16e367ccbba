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

/// The credentials that an app declares, one for each of its services.
package struct DeclaredCredentials: Codable, Sendable, Equatable {
    private var all: [PushService: any ServiceCredentials] = [:]

    package init() {}

    package subscript(service: PushService) -> (any ServiceCredentials)? {
        get { self.all[service] }
        set { self.all[service] = newValue }
    }

    /// The credentials of one form.
    subscript<Credentials: ServiceCredentials>(_ form: Credentials.Type) -> Credentials? {
        get { self.all[form.service] as? Credentials }
        set { self.all[form.service] = newValue }
    }

    package static func == (left: DeclaredCredentials, right: DeclaredCredentials) -> Bool {
        left.all.count == right.all.count
            && left.all.allSatisfy { service, credentials in right.all[service]?.isEqual(to: credentials) == true }
    }

    /// A member's name: that of a service.
    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(_ service: PushService) { self.stringValue = service.rawValue }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Reads the members of services, and ignores others: the stored form has the app's own members beside them.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        func read<Credentials: ServiceCredentials>(_ form: Credentials.Type) throws {
            self[form] = try container.decodeIfPresent(form, forKey: Key(form.service))
        }
        for service in PushService.allCases {
            if let form = service.descriptor.credentials { try read(form) }
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        for (service, credentials) in self.all { try container.encode(credentials, forKey: Key(service)) }
    }
}
