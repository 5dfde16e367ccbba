import Configuration
import Foundation

/// Reads the keys: environment before file before default, each checked.
struct ConfigurationValues {
    private let reader: ConfigReader
    private let environment: [String: String]
    private let file: String?

    /// - Parameters:
    ///   - file: The YAML file, which was checked by ``ConfigurationFile``; nil = none.
    ///   - environment: Environment variables.
    /// - Throws: ``ConfigurationError`` where the file cannot be read.
    init(file: String?, environment: [String: String]) async throws {
        var environment = environment
        // As the quickstart's own variables name it.
        if let store = environment["PUSHLINE_STORE"], environment[ConfigurationKey.storePath.environmentVariable] == nil
        {
            environment[ConfigurationKey.storePath.environmentVariable] = store
        }
        // An empty or all-comment file has no mapping, which the provider refuses.
        var providers: [any ConfigProvider] = [
            EnvironmentVariablesProvider(environmentVariables: environment).prefixKeys(with: "pushline")
        ]
        if let file, try !Self.isEmpty(file) {
            do {
                let location = InMemoryProvider(values: ["filePath": ConfigValue(.string(file), isSecret: false)])
                providers.append(try await FileProvider<YAMLSnapshot>(config: ConfigReader(provider: location)))
            } catch {
                throw ConfigurationError("\(file): cannot be read: \(error)")
            }
        }
        let defaults = ConfigurationKey.all.map { key in
            (AbsoluteConfigKey(key.name.split(separator: ".").map(String.init)), key.defaultValue.configValue)
        }
        providers.append(InMemoryProvider(name: "defaults", values: Dictionary(uniqueKeysWithValues: defaults)))
        self.reader = ConfigReader(providers: providers)
        self.environment = environment
        self.file = file
    }

    func text(_ key: ConfigurationKey) throws -> String {
        let value = try self.read(key) { try self.reader.requiredString(forKey: ConfigKey(key.name)) }
        if case .choice(let choices) = key.kind, !choices.contains(value) { throw self.refusal(of: key) }
        return value
    }

    /// A path: in the file it is relative to the file's folder, so that processes and tools find it from wherever they start; in a
    /// variable, as in any program, to the current folder.
    func path(_ key: ConfigurationKey) throws -> String {
        let value = try self.text(key)
        guard !value.isEmpty, !value.hasPrefix("/"), self.environment[key.environmentVariable] == nil, let file else {
            return value
        }
        let folder = URL(filePath: file).absoluteURL.deletingLastPathComponent()
        return folder.appending(path: value).standardizedFileURL.path(percentEncoded: false)
    }

    /// A path that may be missing: empty is nil.
    func optionalPath(_ key: ConfigurationKey) throws -> String? {
        let value = try self.path(key)
        return value.isEmpty ? nil : value
    }

    func integer(_ key: ConfigurationKey) throws -> Int {
        let value = try self.read(key) { try self.reader.requiredInt(forKey: ConfigKey(key.name)) }
        guard case .integer(let range) = key.kind, range.contains(value) else { throw self.refusal(of: key) }
        return value
    }

    func flag(_ key: ConfigurationKey) throws -> Bool {
        try self.read(key) { try self.reader.requiredBool(forKey: ConfigKey(key.name)) }
    }

    func duration(_ key: ConfigurationKey) throws -> Duration {
        let value = try self.read(key) { try self.reader.requiredDouble(forKey: ConfigKey(key.name)) }
        guard case .seconds(let range) = key.kind, range.contains(value) else { throw self.refusal(of: key) }
        return .seconds(value)
    }

    private func read<Value>(_ key: ConfigurationKey, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch {
            throw self.refusal(of: key)
        }
    }

    private func refusal(of key: ConfigurationKey) -> ConfigurationError {
        if self.environment[key.environmentVariable] != nil {
            return ConfigurationError("environment: \(key.environmentVariable) must be \(key.kind.expectation)")
        }
        let place = self.file.map { "\($0): " } ?? ""
        return ConfigurationError("\(place)\(key.name) must be \(key.kind.expectation)")
    }

    private static func isEmpty(_ file: String) throws -> Bool {
        try String(contentsOfFile: file, encoding: .utf8)
            .split(separator: "\n")
            .allSatisfy { line in
                let text = line.trimmingCharacters(in: .whitespaces)
                return text.isEmpty || text.hasPrefix("#") || text == "---"
            }
    }
}

extension ConfigurationKey.Default {
    fileprivate var configValue: ConfigValue {
        switch self {
        case .text(let value): ConfigValue(.string(value), isSecret: false)
        case .integer(let value): ConfigValue(.int(value), isSecret: false)
        case .flag(let value): ConfigValue(.bool(value), isSecret: false)
        case .seconds(let value): ConfigValue(.double(value), isSecret: false)
        }
    }
}
