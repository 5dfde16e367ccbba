import PushModel
import Settings

/// The tables of docs/settings.md.
enum SettingsTables {
    static let configurationHead = "| key | default | what it must be | what it is |\n| --- | --- | --- | --- |\n"
    static let appsHead = "| key of an app | default | what it must be | what it is |\n| --- | --- | --- | --- |\n"

    static var configuration: String { Self.rows(PushlineConfiguration(), "") }
    static var apps: String { Self.rows(AppSpec(), "") }

    private static func rows(_ section: any SettingsSection, _ prefix: String) -> String {
        section.keys.map { key in
            let (name, words) = (prefix + key.name, key.setting.words)
            guard let outline = key.setting.outline else {
                let value = words.isRequired ? "required" : Self.value(key.setting.written)
                return Self.row(name, value, key.setting.expectation, words.help)
            }
            let word = key.setting.sections.isEmpty ? Self.value(key.setting.written) : ""
            let head = words.help.isEmpty ? "" : Self.row(name, word, "", words.help)
            return head + Self.rows(outline.section, ([name] + outline.path).joined(separator: ".") + ".")
        }.joined()
    }

    private static func row(_ name: String, _ value: String, _ expectation: String, _ help: String) -> String {
        let cells = ["`\(name)`", value, expectation, help].map { $0.replacing("|", with: "\\|") }
        return "| \(cells.joined(separator: " | ")) |\n"
    }

    private static func value(_ value: JSONValue?) -> String {
        switch value {
        case nil: "none"
        case .array(let values)? where values.isEmpty: "none"
        case .string(let text)?: "`\(text)`"
        case .array(let values)?: values.map { Self.value($0) }.joined(separator: ", ")
        case let value?: "`\(value.compactText)`"
        }
    }
}
