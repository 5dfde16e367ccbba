/// The configuration's file, `Config/pushline.yaml`: every key with its default and its meaning.
package enum ConfigurationText {
    /// Said above the sections.
    private static let head = """
        # Configuration of the Pushline processes. Every key is here with its unit and default; leave out what you do not change.
        # An environment variable overrides a key: PUSHLINE_ + section + key, such as PUSHLINE_API_PORT=9000 (PUSHLINE_STORE is short
        # for PUSHLINE_STORE_PATH).
        # Paths are relative to this file's folder; in a variable, to the current one.
        # Apps, their credentials and limits are not here: `pushline apps apply FILE` declares them.
        # This file is written from the sources: PUSHLINE_WRITE_DOCS=1 with ConfigurationTests.

        """

    /// The column at which meanings stand.
    private static let column = 31

    /// The longest line.
    private static let width = 140

    package static var file: String {
        PushlineConfiguration().sections.reduce(into: Self.head) { text, part in
            let (name, section) = part
            let help = type(of: section).help
            text += "\n" + Self.line("\(name):", help) + "\n"
            for (key, setting) in section.settings {
                text += Self.line("  \(key): \(setting.text)", setting.help) + "\n"
            }
        }
    }

    /// A line, and further ones where its meaning is long.
    private static func line(_ start: String, _ help: String) -> String {
        guard !help.isEmpty else { return start }
        var text = start + String(repeating: " ", count: max(3, Self.column - start.count)) + "#"
        var width = text.count
        for word in help.split(separator: " ") {
            if width + 1 + word.count > Self.width {
                text += "\n" + String(repeating: " ", count: Self.column) + "#"
                width = Self.column + 1
            }
            text += " \(word)"
            width += 1 + word.count
        }
        return text
    }
}
