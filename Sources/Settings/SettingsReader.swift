import Foundation
package import PushModel

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

    /// Gives all keys their values, in place.
    ///
    /// - Parameter configuration: A configuration that nobody else has yet.
    /// - Throws: ``ConfigurationError`` for the first thing that is wrong.
    func read(into configuration: PushlineConfiguration) throws(ConfigurationError) {
        do throws(SettingFault) {
            let file = try self.file.map(YAMLFile.read)
            if let file { try configuration.take(file) }
            let rows = SettingRow.all(of: configuration)
            for row in rows { try self.override(row, in: file?[row.section]) }
            try self.takeOpenTelemetry(into: configuration.traces)
            try self.checkStore(rows, file)
            try configuration.check(file)
        } catch {
            throw ConfigurationError(error.description)
        }
    }

    /// Gives the keys of one section their values, in place; the file's other sections are other programs' own.
    ///
    /// - Parameters:
    ///   - section: A section that nobody else has yet.
    ///   - name: Its name.
    /// - Throws: ``ConfigurationError`` for the first thing that is wrong.
    package func read(into section: some SettingsSection, named name: String) throws(ConfigurationError) {
        do throws(SettingFault) {
            let part = try self.file.map(YAMLFile.read)?[name]
            do throws(SettingFault) {
                if let part { try section.take(part) }
            } catch {
                throw error.within(name)
            }
            for row in SettingRow.all(of: section, named: name) { try self.override(row, in: part) }
        } catch {
            throw ConfigurationError(error.description)
        }
    }

    /// What is said elsewhere than in the file.
    private func override(_ row: SettingRow, in section: SettingNode?) throws(SettingFault) {
        if let text = self.options[row.key] {
            try self.take(text, row, named: "--" + row.key.replacing("_", with: "-"))
        } else if let text = self.environment[row.environmentVariable] {
            try self.take(text, row, named: row.environmentVariable, at: "environment")
        } else if let file, row.setting.isPath, section?[row.key] == nil, case .string(let text)? = row.setting.written
        {
            // A default path is the folder's too.
            let folder = URL(filePath: file).absoluteURL.deletingLastPathComponent()
            try self.take(folder.appending(path: text).path(percentEncoded: false), row, named: row.name)
        }
    }

    /// What OpenTelemetry's own variables say, where nothing of ours does: what a file has as its default, it only shows.
    private func takeOpenTelemetry(into traces: TraceSettings) throws(SettingFault) {
        let variables = OpenTelemetryVariables(self.environment)
        let rows = SettingRow.all(of: traces, named: "traces")
        for (row, unsaid) in zip(rows, SettingRow.all(of: TraceSettings(), named: "traces")) {
            guard self.environment[row.environmentVariable] == nil, row.setting.written == unsaid.setting.written,
                let name = row.setting.words.variable, let text = variables.value(of: name),
                // Without a collector the others mean nothing, and may be for somebody else.
                row.key == "endpoint" ? variables.isOn : traces.endpoint != nil
            else { continue }
            try self.take(text, row, named: name, at: "environment")
        }
    }

    /// Refuses two stores, wherever they are given: nobody would know which of them has what was accepted.
    private func checkStore(_ rows: [SettingRow], _ file: SettingNode?) throws(SettingFault) {
        let given = rows.filter { ["store.path", "store.url"].contains($0.name) }
            .compactMap { self.source(of: $0, in: file?[$0.section]) }
        guard given.count > 1 else { return }
        let places = given.joined(separator: " and ")
        throw SettingFault("\(places) are both given, but there is only one store: remove one")
    }

    /// Where a key has a value that somebody gave it; nil = nowhere.
    ///
    /// An empty variable takes the file's value away.
    private func source(of row: SettingRow, in section: SettingNode?) -> String? {
        if let text = self.environment[row.environmentVariable] { return text.isEmpty ? nil : row.environmentVariable }
        guard let node = section?[row.key], case .scalar(let scalar) = node.content, !scalar.text.isEmpty else {
            return nil
        }
        return "\(row.name) (\(node.place))"
    }

    private func take(_ text: String, _ row: SettingRow, named name: String, at place: String = "") throws(SettingFault)
    {
        let node = SettingNode(SettingScalar(text: text), at: place)
        do throws(SettingFault) { try row.setting.take(node) } catch { throw error.within(name) }
    }
}

/// A key of the configuration in its place.
package struct SettingRow {
    let section: String
    let key: String
    let setting: any AnySetting

    static func all(of section: any SettingsSection, named name: String) -> [SettingRow] {
        section.keys.map { SettingRow(section: name, key: $0.name, setting: $0.setting) }
    }

    static func all(of configuration: PushlineConfiguration) -> [SettingRow] {
        configuration.keys.flatMap { key in
            key.setting.sections.flatMap { Self.all(of: $0.section, named: key.name) }
        }
    }

    /// Such as `api.port`.
    package var name: String { "\(self.section).\(self.key)" }

    /// The environment variable that overrides it, such as `PUSHLINE_API_PORT`.
    package var environmentVariable: String { "PUSHLINE_\(self.section)_\(self.key)".uppercased() }
}
