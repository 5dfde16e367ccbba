/// What stands under a key, or is a whole file: a value, a list, or a section of keys.
package struct SettingNode: Sendable {
    package enum Content: Sendable {
        case scalar(SettingScalar)
        case list([SettingNode])
        case section([Entry])
    }

    /// Who wrote it.
    package enum Origin: Sendable, Equatable {
        /// A person, at a place such as `apps.yaml:3`.
        case person(at: String)
        /// Pushline itself: what it knows no key for is a later version's.
        case store
    }

    /// A key of a section, and what stands under it.
    package struct Entry: Sendable {
        package let key: String
        /// Where the key itself stands.
        package let place: String
        package let node: SettingNode

        package init(key: String, place: String, node: SettingNode) {
            self.key = key
            self.place = place
            self.node = node
        }
    }

    package let content: Content
    package let origin: Origin

    package init(_ content: Content, from origin: Origin) {
        self.content = content
        self.origin = origin
    }

    /// A value by itself.
    package init(_ scalar: SettingScalar, at place: String = "") {
        self.init(.scalar(scalar), from: .person(at: place))
    }

    /// Where it stands; empty where no person wrote it.
    package var place: String { if case .person(let place) = self.origin { place } else { "" } }

    /// The keys of a section; none where nothing stands.
    package var entries: [Entry] {
        get throws(SettingFault) {
            switch self.content {
            case .section(let entries): return entries
            case .scalar(let scalar) where scalar.isNothing: return []
            case .scalar, .list: throw SettingFault("must be a section with keys of its own", at: self.place)
            }
        }
    }

    /// What stands under a key of a section.
    package subscript(key: String) -> SettingNode? {
        guard case .section(let entries) = self.content else { return nil }
        return entries.first { $0.key == key }?.node
    }
}

/// A value as it was written.
package struct SettingScalar: Sendable {
    package let text: String
    /// Quoted digits are text: `port: "8080"` is more likely a slip than meant.
    package let isQuoted: Bool
    /// Whether it can be text: `true` and nothing at all cannot, unless they are quoted; a number can (`team_id: 1234567890`).
    package let isText: Bool
    /// The file that it names, if it names one.
    package let path: String

    /// - Parameters:
    ///   - text: What was written.
    ///   - isQuoted: Whether it stood in quotes.
    ///   - isText: Whether it can be text.
    ///   - path: The file that it names; nil = the text says it.
    package init(text: String, isQuoted: Bool = false, isText: Bool = true, path: String? = nil) {
        self.text = text
        self.isQuoted = isQuoted
        self.isText = isText
        self.path = path ?? text
    }

    /// Nothing stands there.
    package var isNothing: Bool { self.text.isEmpty && !self.isQuoted }
}

/// What is wrong with a setting, in one line that names its place and its key.
package struct SettingFault: Error, Equatable, Sendable, CustomStringConvertible {
    package let reason: String
    package let place: String
    /// The key with those around it, such as `apps.default.apns.key_file`.
    package let path: String

    package init(_ reason: String, at place: String = "", path: String = "") {
        self.reason = reason
        self.place = place
        self.path = path
    }

    /// A key that means nothing; a misspelt one would go unnoticed.
    package static func unknown(_ entry: SettingNode.Entry, among known: [String]) -> SettingFault {
        let near = NearestWord.to(entry.key, among: known)
        let advice = near.map { "did you mean \($0)?" } ?? "known are \(known.joined(separator: ", "))"
        return SettingFault("unknown; \(advice)", at: entry.place, path: entry.key)
    }

    /// The same fault, seen from outside a key.
    package func within(_ key: String) -> SettingFault {
        SettingFault(self.reason, at: self.place, path: self.path.isEmpty ? key : "\(key).\(self.path)")
    }

    package var description: String {
        [self.place, self.path, self.reason].filter { !$0.isEmpty }.joined(separator: ": ")
    }
}
