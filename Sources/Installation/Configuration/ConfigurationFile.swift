import Foundation
import PushModel
import Yams

/// Finds keys in a configuration file that mean nothing, and values of the wrong type.
///
/// swift-configuration answers for keys it is asked for and cannot list a file's; a misspelt key would go unnoticed.
struct ConfigurationFile {
    /// As it was given, for messages.
    let path: String

    /// - Throws: ``ConfigurationError`` for the first thing that is wrong.
    func check() throws {
        let text: String
        do {
            text = try String(contentsOfFile: self.path, encoding: .utf8)
        } catch {
            guard FileManager.default.fileExists(atPath: self.path) else {
                throw ConfigurationError("\(self.path): there is no such file")
            }
            throw ConfigurationError("\(self.path): cannot be read as UTF-8 text")
        }
        try self.check(text: text)
    }

    func check(text: String) throws {
        let root: Node?
        do {
            root = try Yams.compose(yaml: text)
        } catch let error as YamlError {
            throw ConfigurationError("\(self.path): is not YAML: \(Self.firstLine(error.description))")
        }
        guard let root, root.scalar.map({ !$0.string.isEmpty }) ?? true else { return }
        guard let mapping = root.mapping else {
            throw ConfigurationError("\(self.path): must hold sections, such as `api:` and below it `port: 8080`")
        }
        try self.check(mapping, section: "")
    }

    private func check(_ mapping: Node.Mapping, section: String) throws {
        for (key, value) in mapping {
            guard let name = key.string else {
                throw ConfigurationError("\(self.place(key)): a key must be text")
            }
            let full = section.isEmpty ? name : "\(section).\(name)"
            if let known = ConfigurationKey.all.first(where: { $0.name == full }) {
                try self.check(value, for: known)
            } else if section.isEmpty, ConfigurationKey.all.contains(where: { $0.name.hasPrefix("\(full).") }) {
                guard let inner = value.mapping else {
                    if value.scalar?.string.isEmpty == true { continue }
                    throw ConfigurationError("\(self.place(value)): \(full) must be a section with keys")
                }
                try self.check(inner, section: full)
            } else {
                throw ConfigurationError("\(self.place(key)): unknown key \(full)\(Self.suggestion(for: full))")
            }
        }
    }

    private func check(_ value: Node, for key: ConfigurationKey) throws {
        guard let scalar = value.scalar else {
            throw ConfigurationError("\(self.place(value)): \(key.name) must be \(key.kind.expectation)")
        }
        // Quoted digits are text: `port: "8080"` is more likely a slip than meant.
        let isPlain = scalar.style == .plain || scalar.style == .any
        let isRight =
            switch key.kind {
            case .text, .choice: true
            case .flag: isPlain && Bool.construct(from: scalar) != nil
            case .integer: isPlain && Int.construct(from: scalar) != nil
            case .seconds: isPlain && Double.construct(from: scalar) != nil
            }
        guard isRight else {
            throw ConfigurationError("\(self.place(value)): \(key.name) must be \(key.kind.expectation)")
        }
    }

    private func place(_ node: Node) -> String {
        guard let mark = node.mark else { return self.path }
        return "\(self.path):\(mark.line)"
    }

    /// The nearest known key, when it is near enough to have been meant.
    static func suggestion(for name: String) -> String {
        let lastPart = name.split(separator: ".").last.map(String.init) ?? name
        let near = ConfigurationKey.all.map { key in
            let own = key.name.split(separator: ".").last.map(String.init) ?? key.name
            return (key.name, min(NearestWord.distance(name, key.name), own == lastPart ? 1 : Int.max))
        }
        guard let best = near.min(by: { $0.1 < $1.1 }), best.1 <= max(2, name.count / 4) else { return "" }
        return " (did you mean \(best.0)?)"
    }

    private static func firstLine(_ text: String) -> String {
        text.split(separator: "\n").first.map(String.init) ?? text
    }
}

extension ConfigurationKey.Kind {
    /// Completes "must be …".
    var expectation: String {
        switch self {
        case .text: "text"
        case .choice(let choices): "one of \(choices.joined(separator: ", "))"
        case .flag: "true or false"
        case .integer(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .seconds(let range):
            "a number of seconds from \(range.lowerBound.formatted()) to \(range.upperBound.formatted())"
        }
    }
}
