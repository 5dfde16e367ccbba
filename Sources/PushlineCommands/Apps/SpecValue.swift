import PushModel

/// An app's declaration as a tree with the file's own keys, for showing and comparing.
indirect enum SpecValue: Equatable {
    case text(String)
    case number(Int)
    case list([String])
    case section([Member])

    struct Member: Equatable {
        let key: String
        let value: SpecValue
    }

    /// Leaves with their paths, such as `apns.key_id`.
    func leaves(path: String = "") -> [(path: String, text: String)] {
        switch self {
        case .text(let text): [(path, text)]
        case .number(let number): [(path, String(number))]
        case .list(let texts): [(path, "[\(texts.joined(separator: ", "))]")]
        case .section(let members):
            members.flatMap { $0.value.leaves(path: path.isEmpty ? $0.key : "\(path).\($0.key)") }
        }
    }

    /// As it is written in JSON.
    var json: JSONValue {
        switch self {
        case .text(let text): .string(text)
        case .number(let number): .integer(number)
        case .list(let texts): .array(texts.map(JSONValue.string))
        case .section(let members): .object(members.map { JSONValue.Member($0.key, $0.value.json) })
        }
    }

    /// A section of the members that are not nil.
    fileprivate static func section(_ members: some Sequence<(key: String, value: SpecValue?)>) -> SpecValue {
        .section(members.compactMap { key, value in value.map { Member(key: key, value: $0) } })
    }
}

extension AppSpec {
    /// The whole declaration, defaults included.
    var tree: SpecValue {
        let head: KeyValuePairs<String, SpecValue?> = [
            "authentication": .text(self.authentication.rawValue),
            "users": .text(self.users.rawValue),
            "reserved_tags": .list(self.reservedTags),
            "recording": .text(self.recording.rawValue),
            "requests_per_second": self.requestsPerSecond.map(SpecValue.number),
            "registration_lifetime_days": self.registrationLifetimeDays.map(SpecValue.number),
            "registrations_per_user": .number(self.registrationsPerUser ?? Self.defaultRegistrationsPerUser),
            "tags_per_registration": .number(self.mostTags),
        ]
        let services = self.services.compactMap { service in
            self.tree(of: service).map { (key: service.rawValue, value: $0 as SpecValue?) }
        }
        let tail: KeyValuePairs<String, SpecValue?> = [
            "hub": self.azureHub?.tree ?? .text("embedded"),
            "rich": self.richDefault.tree,
            "contents": (self.contents ?? Contents()).tree,
            "tokens": self.tokens?.tree,
            "api": .section(["origins": .list(self.origins.map(\.text))]),
        ]
        return .section(head + services + tail)
    }

    /// A service's section, with its further credentials.
    private func tree(of service: PushService) -> SpecValue? {
        guard case .section(let members) = self.credentials[service]?.tree else { return nil }
        let further = self.credentials.names(of: service).filter { $0 != .default }
            .compactMap { name in
                self.credentials[service, name].map { SpecValue.Member(key: name.name, value: $0.tree) }
            }
        guard !further.isEmpty else { return .section(members) }
        return .section(members + [SpecValue.Member(key: Self.furtherCredentials, value: .section(further))])
    }

    /// The differences from a later declaration: path, old text, new text; nil = absent.
    func changes(to later: AppSpec) -> [(path: String, old: String?, new: String?)] {
        let old = Dictionary(self.tree.leaves(), uniquingKeysWith: { $1 })
        let new = Dictionary(later.tree.leaves(), uniquingKeysWith: { $1 })
        return Set(old.keys).union(new.keys).sorted()
            .filter { old[$0] != new[$0] }
            .map { (path: $0, old: old[$0], new: new[$0]) }
    }
}

extension ServiceCredentials {
    fileprivate var tree: SpecValue {
        .section(self.settings.map { key, setting in (key: key, value: setting.map(SpecValue.init)) })
    }
}

extension SpecValue {
    fileprivate init(_ setting: Setting) {
        switch setting {
        case .text(let text): self = .text(text)
        case .number(let number): self = .number(number)
        case .list(let texts): self = .list(texts)
        }
    }
}

extension AppSpec.AzureHub {
    fileprivate var tree: SpecValue {
        let members: KeyValuePairs<String, SpecValue?> = [
            "connection_string_file": .text(self.connectionStringFile),
            "name": .text(self.name),
            "platforms": .list(self.platforms.map(\.rawValue)),
            "trust_file": self.trustFile.map(SpecValue.text),
        ]
        return .section([.init(key: "azure", value: .section(members))])
    }
}

extension AppSpec.RichDefault {
    fileprivate var tree: SpecValue {
        .section([
            "message": .text(self.message),
            "rich_type": .text(self.richType),
            "content": self.content.map(SpecValue.text),
            "secure": .text(String(self.isSecure)),
            "per_account": .number(self.perAccount),
            "per_app": .number(self.perApp),
        ])
    }
}

extension TokenSettings {
    fileprivate var tree: SpecValue {
        var (file, url, trustFile) = (String?.none, String?.none, String?.none)
        switch self.keySet {
        case .file(let path): file = path
        case .address(let address, let trust): (url, trustFile) = (address, trust)
        }
        let members: KeyValuePairs<String, SpecValue?> = [
            "issuer": .text(self.issuer),
            "audience": .text(self.audience),
            "algorithms": .list(self.algorithms.map(\.rawValue)),
            "jwks_file": file.map(SpecValue.text),
            "jwks_url": url.map(SpecValue.text),
            "trust_file": trustFile.map(SpecValue.text),
            "user_claim": .text(self.userClaim),
            "same_users": .text(String(self.sameUsers)),
        ]
        return .section(members)
    }
}

extension AppSpec.Contents {
    fileprivate var tree: SpecValue {
        .section(["account_bytes": .number(self.accountBytes), "app_bytes": .number(self.appBytes)])
    }
}
