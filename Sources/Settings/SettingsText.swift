import PushModel

/// Writes files that have every key with its default and its meaning.
struct SettingsText {
    /// The column at which meanings stand.
    let column: Int
    private(set) var text: String

    /// The longest line.
    private static let width = 140

    /// - Parameters:
    ///   - head: What stands above.
    ///   - column: The column at which meanings stand.
    init(_ head: String, column: Int) {
        self.text = head
        self.column = column
    }

    /// Writes a section's keys.
    ///
    /// - Parameters:
    ///   - section: The section.
    ///   - indent: The spaces before its keys.
    ///   - isComment: Whether they are not to be read.
    mutating func write(_ section: any SettingsSection, indent: Int, isComment: Bool = false) {
        for key in section.keys { self.write(key, indent: indent, isComment: isComment) }
    }

    private mutating func write(_ key: SettingKey, indent: Int, isComment: Bool) {
        let (words, value) = (key.setting.words, key.setting.written)
        guard let outline = key.setting.outline else {
            let shown = Self.shown(value, words)
            let text = "\(key.name): \(shown ?? words.example ?? "")"
            return self.line(text, words.help, indent, isComment: isComment || shown == nil)
        }
        self.text += "\n"
        // A section that may stand in place of a word comes after that.
        if case .string(let word)? = value {
            self.line("\(key.name): \(word)", words.help, indent, isComment: isComment)
        }
        let isOff = isComment || key.setting.sections.isEmpty && !words.isUsual
        var (help, indent) = (value.flatMap(Self.word) == nil ? words.help : "", indent)
        for name in [key.name] + outline.path {
            self.line("\(name):", help, indent, isComment: isOff)
            (help, indent) = ("", indent + 2)
        }
        self.write(outline.section, indent: indent, isComment: isOff)
    }

    private static func word(_ value: JSONValue) -> String? { if case .string(let text) = value { text } else { nil } }

    /// What a file says of a key; nil = it is named in a comment.
    private static func shown(_ value: JSONValue?, _ words: SettingWords) -> String? {
        switch value {
        case nil where words.isUsual: words.example
        case nil where words.example == nil: "\"\""
        case nil: nil
        case .array(let values)? where values.isEmpty: nil
        case let value?: Self.yaml(value)
        }
    }

    /// A value as YAML.
    static func yaml(_ value: JSONValue) -> String {
        switch value {
        case .string(let text): Self.quoted(text)
        case .array(let values): "[\(values.map(Self.yaml).joined(separator: ", "))]"
        default: value.compactText
        }
    }

    /// A text, in quotes where it is empty or would be read as something else.
    private static func quoted(_ text: String) -> String {
        let isPlain =
            text.allSatisfy { $0.isLetter || $0.isNumber || "._/-".contains($0) } && text.first?.isLetter == true
            || text.split(separator: ".").count == 4 && text.allSatisfy { $0.isNumber || $0 == "." }
        return isPlain ? text : "\"\(text)\""
    }

    /// A line, and further ones where its meaning is long.
    mutating func line(_ start: String, _ help: String, _ indent: Int, isComment: Bool = false) {
        let start = String(repeating: " ", count: indent) + (isComment ? "# " : "") + start
        guard !help.isEmpty else {
            self.text += start + "\n"
            return
        }
        let line = start + String(repeating: " ", count: max(3, self.column - start.count)) + "#"
        self.text += line
        var width = line.count
        for word in help.split(separator: " ") {
            if width + 1 + word.count > Self.width {
                self.text += "\n" + String(repeating: " ", count: self.column) + "#"
                width = self.column + 1
            }
            self.text += " \(word)"
            width += 1 + word.count
        }
        self.text += "\n"
    }
}
