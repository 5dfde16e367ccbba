/// A section of the configuration: a type whose properties are ``Setting``s.
package protocol SettingsSection: Sendable {
    /// Said beside the section's name in the file; empty = nothing.
    static var help: String { get }

    init()

    /// Why keys of the section do not go together; nil = they do.
    var fault: String? { get }
}

extension SettingsSection {
    package static var help: String { "" }
    package var fault: String? { nil }

    /// The section's keys, in the order of their declarations.
    var settings: [(name: String, setting: any AnySetting)] {
        Mirror(reflecting: self).children.compactMap { label, value in
            // The storage of a wrapped property `bodySize` is `_bodySize`.
            guard let label, let setting = value as? any AnySetting else { return nil }
            return (SettingName.snakeCase(label.dropFirst()), setting)
        }
    }
}

/// The names of keys.
enum SettingName {
    /// `bodySize` is `body_size`, and `managementURL` is `management_url`.
    static func snakeCase(_ name: some StringProtocol) -> String {
        zip(name, " " + name).reduce(into: "") { text, pair in
            let (character, previous) = pair
            if character.isUppercase, !previous.isUppercase, !text.isEmpty { text += "_" }
            text += character.lowercased()
        }
    }
}

/// A key in its place.
package struct SettingRow {
    let section: String
    let key: String
    let setting: any AnySetting

    static func all(of section: any SettingsSection, named name: String) -> [SettingRow] {
        section.settings.map { SettingRow(section: name, key: $0.name, setting: $0.setting) }
    }

    /// Such as `api.port`.
    package var name: String { "\(self.section).\(self.key)" }

    /// The environment variable that overrides it, such as `PUSHLINE_API_PORT`.
    package var environmentVariable: String { "PUSHLINE_\(self.section)_\(self.key)".uppercased() }
}
