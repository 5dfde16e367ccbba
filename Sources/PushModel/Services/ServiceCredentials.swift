/// What an app shows a push service: the keys of the service's section in its declaration.
package protocol ServiceCredentials: SettingsSection, Equatable {
    /// The service that it is for.
    static var service: PushService { get }
    /// Said beside the section's name.
    static var help: String { get }
    /// The most devices to send to in a second, over all jobs and workers; nil = as fast as it goes.
    var devicesPerSecond: Int? { get }
}

extension ServiceCredentials {
    /// Whether both are of the same service and equal.
    package func isEqual(to other: any ServiceCredentials) -> Bool { other as? Self == self }
}

/// The meanings of keys that all services have.
enum ServiceWords {
    static let trustFile = "certificates to trust in place of the system's, PEM; for simulators"
    static let rate =
        "the most devices to send to in a second, over all jobs and workers; unless said as fast as it goes"
    static let rates = 1...1_000_000
}

/// The credentials that an app declares: of each of its services the default one, and further ones by name.
package struct DeclaredCredentials: Sendable {
    private struct Declared: Sendable {
        let service: PushService
        var credentials: Setting<[CredentialName: any ServiceCredentials]>
    }

    private var all = PushService.allCases.compactMap { service in
        service.descriptor.credentials.map { form in
            Declared(
                service: service,
                credentials: Setting(wrappedValue: [:], .credentials(form), form.help, isUsual: true)
            )
        }
    }

    package init() {}

    /// A service's default one.
    package subscript(service: PushService) -> (any ServiceCredentials)? {
        get { self[service, .default] }
        set { self[service, .default] = newValue }
    }

    /// Whether a service has its default one.
    package func has(_ service: PushService) -> Bool {
        self.all.contains { $0.service == service && $0.credentials.wrappedValue[.default] != nil }
    }

    package subscript(service: PushService, name: CredentialName) -> (any ServiceCredentials)? {
        get { self.named(service)[name] }
        set {
            guard let index = self.all.firstIndex(where: { $0.service == service }) else { return }
            self.all[index].credentials.wrappedValue[name] = newValue
        }
    }

    /// The names of a service's credentials, the default one first.
    package func names(of service: PushService) -> [CredentialName] {
        self.named(service).keys.sorted { ($0 == .default ? 0 : 1, $0) < ($1 == .default ? 0 : 1, $1) }
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

    private func named(_ service: PushService) -> [CredentialName: any ServiceCredentials] {
        self.all.first { $0.service == service }?.credentials.wrappedValue ?? [:]
    }
}

extension DeclaredCredentials: Equatable {
    package static func == (left: DeclaredCredentials, right: DeclaredCredentials) -> Bool {
        zip(left.all, right.all).allSatisfy { one, other in
            let (one, other) = (one.credentials.wrappedValue, other.credentials.wrappedValue)
            return one.count == other.count && one.allSatisfy { other[$0]?.isEqual(to: $1) == true }
        }
    }
}

extension DeclaredCredentials: SettingsGroup {
    package var keys: [SettingKey] { self.all.map { SettingKey($0.service.rawValue, $0.credentials) } }
}

extension SettingKind where Value == [CredentialName: any ServiceCredentials] {
    /// The key, in a service's section, of its further credentials.
    private static var further: String { "credentials" }
    /// The most of them: each has connections of its own in each delivery worker.
    private static var most: Int { 20 }

    /// The section of a service: its default credential, and further ones by name.
    static func credentials(_ form: any ServiceCredentials.Type) -> Self {
        Self(
            expectation: "a section with keys of its own",
            read: { node throws(SettingFault) in
                let entries = try node.entries
                var found = Value()
                // The store has a section also where only further ones are declared.
                if node.origin != .store || entries.contains(where: { $0.key != Self.further }) {
                    let own = form.init()
                    try own.take(node, besides: [Self.further])
                    found[.default] = own
                }
                guard let all = node[Self.further] else { return found }
                do throws(SettingFault) {
                    for entry in try Self.few(all) { found[try Self.name(entry)] = try Self.one(entry, form) }
                } catch {
                    throw error.within(Self.further)
                }
                return found
            },
            written: { all in
                guard !all.isEmpty else { return nil }
                var members: [JSONValue.Member] = []
                if case .object(let own) = all[.default]?.written { members = own }
                let further = all.filter { $0.key != .default }.sorted { $0.key < $1.key }
                if !further.isEmpty {
                    let named = further.map { JSONValue.Member($0.key.name, $0.value.written) }
                    members.append(JSONValue.Member(Self.further, .object(named)))
                }
                return .object(members)
            },
            sections: { all in
                all.map { SettingPart($1, at: $0 == .default ? [] : [Self.further, $0.name]) }
            },
            outline: { SettingPart(form.init()) }
        )
    }

    private static func few(_ node: SettingNode) throws(SettingFault) -> [SettingNode.Entry] {
        let entries = try node.entries
        guard entries.count <= Self.most else {
            throw SettingFault("has more than \(Self.most) credentials", at: node.place)
        }
        return entries
    }

    private static func name(_ entry: SettingNode.Entry) throws(SettingFault) -> CredentialName {
        let name: CredentialName
        do throws(InvalidValue) { name = try CredentialName(entry.key) } catch {
            throw SettingFault(error.reason, at: entry.place, path: entry.key)
        }
        guard name != .default else {
            let reason = "is the name of the one in the section itself; choose another"
            throw SettingFault(reason, at: entry.place, path: entry.key)
        }
        return name
    }

    private static func one(
        _ entry: SettingNode.Entry,
        _ form: any ServiceCredentials.Type
    ) throws(SettingFault) -> any ServiceCredentials {
        let credentials = form.init()
        do throws(SettingFault) { try credentials.take(entry.node) } catch { throw error.within(entry.key) }
        return credentials
    }
}
