import Foundation
import PushModel
import Yams

/// Reads keys: options of the command line before environment before file before default, each checked.
package struct SettingsReader {
    /// As it was given, for messages; nil = no file.
    let file: String?
    let environment: [String: String]
    /// By the key's name in its section, such as `control_port`.
    let options: [String: String]

    package init(
        file: String?,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        options: [String: String] = [:]
    ) {
        self.file = file
        self.environment = environment
        self.options = options
    }

    /// Gives the keys of sections their values, in place.
    ///
    /// - Parameter sections: Of a configuration that nobody else has yet.
    /// - Throws: ``ConfigurationError`` for the first thing that is wrong.
    func read(into sections: [(name: String, section: any SettingsSection)]) throws {
        let rows = sections.flatMap { SettingRow.all(of: $1, named: $0) }
        let file = try self.file.map { try SettingsFile(path: $0) }
        try file?.checkNames(rows)
        for row in rows { try self.read(row, from: file) }
        for (_, section) in sections {
            if let fault = section.fault { throw ConfigurationError(fault) }
        }
    }

    /// Gives the keys of one section their values, in place; the file's other sections are other programs' own.
    ///
    /// - Throws: ``ConfigurationError`` for the first thing that is wrong.
    package func read(into section: some SettingsSection, named name: String) throws {
        let rows = SettingRow.all(of: section, named: name)
        let file = try self.file.map { try SettingsFile(path: $0) }
        try file?.checkNames(rows, section: name)
        for row in rows { try self.read(row, from: file) }
    }

    private func read(_ row: SettingRow, from file: SettingsFile?) throws {
        if let text = self.options[row.key] {
            let option = "--" + row.key.replacing("_", with: "-")
            return try self.take(SettingScalar(text: text), row, at: "", named: option)
        }
        if let text = self.environment[row.environmentVariable] {
            return try self.take(SettingScalar(text: text), row, at: "environment: ", named: row.environmentVariable)
        }
        if let (scalar, place) = try file?.scalar(row) {
            return try self.take(self.inFolder(scalar, row), row, at: "\(place): ", named: row.name)
        }
        // A default path is the folder's too.
        guard row.setting.isPath, self.file != nil, row.setting.text != "\"\"" else { return }
        try self.take(self.inFolder(SettingScalar(text: row.setting.text), row), row, at: "", named: row.name)
    }

    private func take(_ scalar: SettingScalar, _ row: SettingRow, at place: String, named name: String) throws {
        do {
            guard try row.setting.take(scalar) else {
                throw ConfigurationError("\(place)\(name) must be \(row.setting.expectation)")
            }
        } catch let error as InvalidValue {
            throw ConfigurationError("\(place)\(name): \(error.reason)")
        }
    }

    /// A path of the file is relative to the file's folder, so that processes and tools find it from wherever they start; in a
    /// variable, as in any program, to the current folder.
    private func inFolder(_ scalar: SettingScalar, _ row: SettingRow) -> SettingScalar {
        guard row.setting.isPath, let file, !scalar.text.isEmpty, !scalar.text.hasPrefix("/") else { return scalar }
        let folder = URL(filePath: file).absoluteURL.deletingLastPathComponent()
        return SettingScalar(text: folder.appending(path: scalar.text).standardizedFileURL.path(percentEncoded: false))
    }
}

/// A configuration file: sections of keys.
struct SettingsFile {
    private let path: String
    private let sections: Node.Mapping

    /// - Throws: ``ConfigurationError`` where it cannot be read, or is not of sections.
    init(path: String) throws {
        self.path = path
        let text: String
        do {
            text = try String(contentsOfFile: path, encoding: .utf8)
        } catch {
            guard FileManager.default.fileExists(atPath: path) else {
                throw ConfigurationError("\(path): there is no such file")
            }
            throw ConfigurationError("\(path): cannot be read as UTF-8 text")
        }
        let root: Node?
        do {
            root = try Yams.compose(yaml: text)
        } catch let error as YamlError {
            throw ConfigurationError("\(path): is not YAML: \(Self.firstLine(error.description))")
        }
        guard let root, root.scalar.map({ !$0.string.isEmpty }) ?? true else {
            self.sections = Node.Mapping([])
            return
        }
        guard let mapping = root.mapping else {
            throw ConfigurationError("\(path): must hold sections, such as `api:` and below it `port: 8080`")
        }
        self.sections = mapping
    }

    /// Refuses names that mean nothing: a misspelt key would go unnoticed.
    ///
    /// - Parameters:
    ///   - rows: The keys that there are.
    ///   - only: The one section to look at; nil = all.
    /// - Throws: ``ConfigurationError`` that names the place.
    func checkNames(_ rows: [SettingRow], section only: String? = nil) throws {
        for (key, value) in self.sections {
            guard let name = key.string else { throw ConfigurationError("\(self.place(key)): a key must be text") }
            if let only, name != only { continue }
            let own = rows.filter { $0.section == name }
            if own.isEmpty { throw self.unknown(key, name, rows) }
            guard let mapping = value.mapping else {
                if value.scalar?.string.isEmpty == true { continue }
                throw ConfigurationError("\(self.place(value)): \(name) must be a section with keys")
            }
            for (key, _) in mapping {
                guard let inner = key.string else { throw ConfigurationError("\(self.place(key)): a key must be text") }
                if !own.contains(where: { $0.key == inner }) { throw self.unknown(key, "\(name).\(inner)", rows) }
            }
        }
    }

    /// What the file says of a key, and where; nil = nothing.
    func scalar(_ row: SettingRow) throws -> (SettingScalar, place: String)? {
        guard let value = self.sections[Node(row.section)]?.mapping?[Node(row.key)] else { return nil }
        guard let scalar = value.scalar else {
            throw ConfigurationError("\(self.place(value)): \(row.name) must be \(row.setting.expectation)")
        }
        let isQuoted = scalar.style != .plain && scalar.style != .any
        return (SettingScalar(text: scalar.string, isQuoted: isQuoted), self.place(value))
    }

    private func unknown(_ key: Node, _ name: String, _ rows: [SettingRow]) -> ConfigurationError {
        ConfigurationError("\(self.place(key)): unknown key \(name)\(Self.suggestion(for: name, rows))")
    }

    private func place(_ node: Node) -> String { node.mark.map { "\(self.path):\($0.line)" } ?? self.path }

    /// The nearest known key, when it is near enough to have been meant.
    private static func suggestion(for name: String, _ rows: [SettingRow]) -> String {
        let lastPart = name.split(separator: ".").last.map(String.init) ?? name
        let near = rows.map { row in
            (row.name, min(NearestWord.distance(name, row.name), row.key == lastPart ? 1 : Int.max))
        }
        guard let best = near.min(by: { $0.1 < $1.1 }), best.1 <= max(2, name.count / 4) else { return "" }
        return " (did you mean \(best.0)?)"
    }

    private static func firstLine(_ text: String) -> String {
        text.split(separator: "\n").first.map(String.init) ?? text
    }
}
